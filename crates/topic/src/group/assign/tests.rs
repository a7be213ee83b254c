use proptest::prelude::*;

use super::*;

fn wishes(list: &[(&str, &[&str])]) -> Wishes {
    let set = |topics: &[&str]| topics.iter().map(|topic| (*topic).to_owned()).collect();
    list.iter().map(|(member, topics)| ((*member).to_owned(), set(topics))).collect()
}

fn partitions(list: &[(&str, u32)]) -> BTreeMap<String, u32> {
    list.iter().map(|(topic, count)| ((*topic).to_owned(), *count)).collect()
}

/// What a member has, as text.
fn share(owners: &Owners, member: &str) -> String {
    let of_member = owners.iter().filter(|(_, owner)| *owner == member);
    let names = of_member.map(|(p, _)| format!("{}{}", p.topic, p.partition));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn ranges_are_of_each_topic_and_turns_go_over_all() {
    let wishes = wishes(&[("a", &["t", "u"]), ("b", &["t", "u"])]);
    let partitions = partitions(&[("t", 3), ("u", 3)]);
    let ranges = assign(Assignor::Range, &wishes, &partitions, &Owners::new());
    assert_eq!(share(&ranges, "a"), "t0 t1 u0 u1");
    assert_eq!(share(&ranges, "b"), "t2 u2");
    let turns = assign(Assignor::RoundRobin, &wishes, &partitions, &Owners::new());
    assert_eq!(share(&turns, "a"), "t0 t2 u1");
    assert_eq!(share(&turns, "b"), "t1 u0 u2");
}

#[test]
fn a_member_that_comes_takes_only_what_evens_the_shares() {
    let one = wishes(&[("a", &["t"])]);
    let partitions = partitions(&[("t", 4)]);
    let before = assign(Assignor::Sticky, &one, &partitions, &Owners::new());
    assert_eq!(share(&before, "a"), "t0 t1 t2 t3");
    let two = wishes(&[("a", &["t"]), ("b", &["t"])]);
    let after = assign(Assignor::Sticky, &two, &partitions, &before);
    assert_eq!((share(&after, "a"), share(&after, "b")), ("t0 t1".into(), "t2 t3".into()));
    // One goes: the other keeps its own, and gets the rest.
    let gone = wishes(&[("b", &["t"])]);
    assert_eq!(share(&assign(Assignor::Sticky, &gone, &partitions, &after), "b"), "t0 t1 t2 t3");
}

fn any_wishes() -> impl Strategy<Value = Wishes> {
    let topics = prop::collection::btree_set("[tuvw]", 0..4);
    prop::collection::btree_map("[a-f]", topics, 0..6)
}

fn any_partitions() -> impl Strategy<Value = BTreeMap<String, u32>> {
    prop::collection::btree_map("[tuvw]", 0_u32..9, 0..4)
}

proptest! {
    #[test]
    fn each_wanted_partition_has_one_owner_who_wants_it(
        wishes in any_wishes(), before in any_wishes(), partitions in any_partitions(),
    ) {
        for strategy in [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky] {
            let earlier = assign(strategy, &before, &partitions, &Owners::new());
            let owners = assign(strategy, &wishes, &partitions, &earlier);
            for partition in all(&partitions) {
                let wanting = wanting(&wishes, &partition.topic);
                match owners.get(&partition) {
                    Some(owner) => prop_assert!(wanting.contains(&owner), "{strategy:?}"),
                    None => prop_assert!(wanting.is_empty(), "{strategy:?} leaves {partition:?}"),
                }
            }
            prop_assert!(owners.keys().all(|p| p.partition < partitions[&p.topic]));
        }
    }

    #[test]
    fn equal_wishes_get_equal_shares_and_nothing_moves_without_need(
        members in 1_usize..6, earlier in 1_usize..6, partitions in any_partitions(),
    ) {
        let topics: BTreeSet<String> = partitions.keys().cloned().collect();
        let of = |members: usize| -> Wishes {
            (0..members).map(|n| (n.to_string(), topics.clone())).collect()
        };
        let before = assign(Assignor::Sticky, &of(earlier), &partitions, &Owners::new());
        let after = assign(Assignor::Sticky, &of(members), &partitions, &before);
        let total = partitions.values().sum::<u32>() as usize;
        let share = |owners: &Owners, member: &str| owners.values().filter(|o| *o == member).count();
        for member in of(members).keys() {
            let has = share(&after, member);
            prop_assert!((total / members..=total.div_ceil(members)).contains(&has));
            // Who stays keeps what it had, up to a fair share.
            let kept = before.iter().filter(|(p, owner)| *owner == member && after[*p] == **owner);
            prop_assert!(kept.count() >= share(&before, member).min(total / members));
        }
    }
}
