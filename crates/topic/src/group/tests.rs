use proptest::prelude::*;

use super::*;

const SESSION: u64 = 10;
const POLL_INTERVAL: u64 = 25;

/// A group of topic `t` with some partitions, and a clock.
struct World {
    groups: Groups,
    partitions: BTreeMap<String, u32>,
    topics: BTreeSet<String>,
    now: u64,
}

impl World {
    fn new(partitions: u32) -> Self {
        Self {
            groups: Groups::default(),
            partitions: [("t".to_owned(), partitions)].into(),
            topics: ["t".to_owned()].into(),
            now: 100,
        }
    }

    fn at<'a>(&'a self, member: &'a str) -> Beat<'a> {
        Beat {
            group: "g",
            member,
            topics: &self.topics,
            partitions: &self.partitions,
            now_ns: self.now,
            session_ns: SESSION,
            poll_interval_max_ns: POLL_INTERVAL,
        }
    }

    fn join(&self, member: &str) -> Share {
        self.groups.join(&self.at(member), Assignor::Sticky).unwrap()
    }

    fn beat(&self, member: &str) -> Result<Share> {
        self.groups.beat(&self.at(member))
    }
}

fn numbers(partitions: &BTreeSet<TopicPartition>) -> Vec<u32> {
    partitions.iter().map(|partition| partition.partition).collect()
}

fn partition(number: u32) -> TopicPartition {
    TopicPartition { topic: "t".to_owned(), partition: number }
}

#[test]
fn a_partition_changes_hands_only_after_its_owner_let_go() {
    let world = World::new(4);
    assert_eq!(numbers(&world.join("a").owned), [0, 1, 2, 3]);
    // Its share is known, and still a's.
    assert!(world.join("b").owned.is_empty());
    assert!(world.groups.check_owner("g", "b", &partition(2)).is_err());
    let share = world.beat("a").unwrap();
    assert_eq!(
        (numbers(&share.owned), numbers(&share.wanted_back)),
        (vec![0, 1, 2, 3], vec![2, 3])
    );
    // Until then it may commit.
    world.groups.check_owner("g", "a", &partition(2)).unwrap();
    world.groups.release("g", "a", &share.wanted_back);
    assert_eq!(numbers(&world.beat("b").unwrap().owned), [2, 3]);
    let error = world.groups.check_owner("g", "a", &partition(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("'b' has"), "{error}");
}

#[test]
fn who_is_not_heard_of_is_dead_and_can_not_commit() {
    let mut world = World::new(2);
    world.join("a");
    world.now += SESSION;
    world.join("b");
    world.now += 1;
    // a said nothing for longer than its session.
    assert_eq!(numbers(&world.beat("b").unwrap().owned), [0, 1]);
    assert_eq!(world.beat("a").unwrap_err().kind(), ErrorKind::Conflict);
    assert!(world.groups.check_owner("g", "a", &partition(0)).is_err());
    world.groups.check_owner("g", "b", &partition(0)).unwrap();
    // It may join again.
    assert!(world.join("a").owned.is_empty());
}

#[test]
fn a_name_is_a_member_once_and_all_share_by_one_strategy() {
    let world = World::new(2);
    let generation = world.join("a").generation;
    let again = world.groups.join(&world.at("a"), Assignor::Sticky).unwrap_err();
    assert!(again.to_string().contains("has a member 'a' already"), "{again}");
    let other = world.groups.join(&world.at("b"), Assignor::Range).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict);
    assert!(world.join("b").generation > generation);
    world.groups.leave("g", "a");
    world.groups.leave("g", "b");
    assert!(world.groups.members("g").is_empty());
    world.groups.join(&world.at("a"), Assignor::Range).unwrap();
}

#[test]
fn partitions_and_topics_that_are_added_are_shared_out() {
    let mut world = World::new(1);
    world.join("a");
    world.partitions.insert("t".to_owned(), 3);
    assert_eq!(numbers(&world.beat("a").unwrap().owned), [0, 1, 2]);
    world.topics.insert("u".to_owned());
    world.partitions.insert("u".to_owned(), 1);
    assert_eq!(world.beat("a").unwrap().owned.len(), 4);
}

proptest! {
    /// Whatever members do and in which order, and whoever falls silent: no two own one partition, and
    /// in the end those who are left own all.
    #[test]
    fn a_partition_has_one_owner_at_most(
        partitions in 1_u32..8,
        steps in prop::collection::vec((0_u8..5, 0_u8..4, 0_u64..6), 1..80),
    ) {
        let mut world = World::new(partitions);
        // What each member believes to own: what it may read.
        let mut believed: BTreeMap<String, (u64, BTreeSet<TopicPartition>)> = BTreeMap::new();
        for (what, who, time) in steps {
            world.now += time;
            let name = who.to_string();
            match what {
                0 => {
                    if let Ok(share) = world.groups.join(&world.at(&name), Assignor::Sticky) {
                        believed.insert(name, (world.now, share.owned));
                    }
                }
                1 => {
                    world.groups.leave("g", &name);
                    believed.remove(&name);
                }
                _ => match world.beat(&name) {
                    Ok(share) => {
                        world.groups.release("g", &name, &share.wanted_back);
                        let kept = share.owned.difference(&share.wanted_back).cloned().collect();
                        believed.insert(name, (world.now, kept));
                    }
                    Err(_) => drop(believed.remove(&name)),
                },
            }
            // Who has been silent too long must not believe anything.
            believed.retain(|_, (heard, _)| world.now - *heard <= SESSION);
            let mut seen = BTreeSet::new();
            for (_, owned) in believed.values() {
                for partition in owned {
                    prop_assert!(seen.insert(partition.clone()), "two own {partition:?}");
                }
            }
        }
        world.join("last");
        for _ in 0..3 {
            for name in ["0", "1", "2", "3", "last"] {
                if let Ok(share) = world.beat(name) {
                    world.groups.release("g", name, &share.wanted_back);
                }
            }
        }
        let members = world.groups.members("g");
        let owned: usize = members.values().map(Vec::len).sum();
        prop_assert_eq!(owned, partitions as usize);
        let least = partitions as usize / members.len();
        prop_assert!(members.values().all(|has| has.len() >= least), "{members:?}");
    }
}

/// The story: a handler that took longer than the session lost its partitions, and its records were given again.
#[test]
fn a_heart_that_beats_keeps_partitions_and_one_who_hangs_loses_them_all_the_same() {
    let mut world = World::new(2);
    assert_eq!(numbers(&world.join("slow").owned), [0, 1]);
    world.now += SESSION;
    world.join("b");
    assert_eq!(numbers(&world.groups.heartbeat("g", "slow", world.now).unwrap()), [1]);
    world.now += SESSION;
    // It did not poll since, and is alive: b has still nothing.
    assert!(world.beat("b").unwrap().owned.is_empty());
    world.groups.heartbeat("g", "slow", world.now).unwrap();
    world.groups.check_owner("g", "slow", &partition(0)).unwrap();
    // Five more are the longest that it may go without a poll.
    world.now += POLL_INTERVAL - 2 * SESSION;
    world.groups.heartbeat("g", "slow", world.now).unwrap();
    world.now += 1;
    let error = world.groups.heartbeat("g", "slow", world.now).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(numbers(&world.beat("b").unwrap().owned), [0, 1]);
    assert!(world.groups.check_owner("g", "slow", &partition(0)).is_err());
}
