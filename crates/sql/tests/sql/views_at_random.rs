//! A materialised view under random changes, held against its query over a table that has had the same changes and lets nothing expire.
//!
//! `SEED=N cargo test -p timestrata-sql --test sql -- views_at_random` runs the changes of a seed again.

use std::fmt::Write;
use std::sync::Arc;

use timestrata_engine::{Io, Moment, Retention, SeqNo, Store};
use timestrata_io::{ManualClock, Rng, SeededRng};
use timestrata_sql::{Sql, SqlOptions};
use timestrata_table::Table;

use crate::materialized::{kept, open};
use crate::support::{answer, ask};

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;
const SEEDS: [u64; 3] = [1, 2, 20_261_129];
const STEPS: usize = 60;

/// What the views here ask of a table.
pub(crate) const VIEW: &str = "SELECT time_bucket('10 minutes', time) AS bucket, host, count(*) AS rows, count(n) AS known, sum(n) AS total, min(n) AS low, \
     max(x) AS high, avg(x) AS mean, avg(n) AS middle, sum(d) AS money, first(label, time) AS opened, last(label, time) AS closed \
     FROM {t} WHERE n IS NULL OR n % 11 <> 3 GROUP BY bucket, host";

/// A disk in memory, and a clock that is set.
pub(crate) struct Machine {
    io: Io,
    pub(crate) clock: Arc<ManualClock>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        // 2023-11-14T22:13:20Z
        let clock = Arc::new(ManualClock::new(1_700_000_000 * SECOND_NS));
        Self { io: Io { clock: clock.clone(), ..Io::memory() }, clock }
    }

    pub(crate) fn open(&self) -> (Store, Sql) {
        open(&self.io, kept())
    }

    pub(crate) fn now_ns(&self) -> i64 {
        self.io.clock.wall_ns()
    }
}

/// A time as a statement has it.
pub(crate) fn time_text(ns: i64) -> String {
    timestrata_table::time_text(ns)
}

/// Which rows a table replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    KeepsAll,
    ByTimeAndHost,
    ById,
}

struct Story {
    seed: u64,
    kind: Kind,
    machine: Machine,
    store: Store,
    sql: Sql,
    rng: SeededRng,
    next: i64,
    /// Rows that may be replaced, with their times.
    ids: Vec<(i64, i64)>,
    /// Commits at which the view was looked at, with what it had to be.
    past: Vec<(SeqNo, Vec<String>)>,
}

impl Story {
    fn new(seed: u64, kind: Kind) -> Self {
        let machine = Machine::new();
        let (store, sql) = machine.open();
        let story = Self {
            seed,
            kind,
            machine,
            store,
            sql,
            rng: SeededRng::new(seed),
            next: 0,
            ids: Vec::new(),
            past: Vec::new(),
        };
        let key = match kind {
            Kind::KeepsAll => "",
            Kind::ByTimeAndHost => ", PRIMARY KEY (time, host)",
            Kind::ById => ", PRIMARY KEY (id)",
        };
        for table in ["all_rows", "t"] {
            story.run(&format!(
                "CREATE TABLE {table} (time TIMESTAMP NOT NULL, id BIGINT NOT NULL, host VARCHAR, n BIGINT, x DOUBLE, \
                 d DECIMAL(10, 2), label VARCHAR{key})"
            ));
        }
        let retention = Retention { age_ns: Some(180 * MINUTE_NS as u64), bytes: None };
        Table::open(&story.store, "t").unwrap().set_retention(retention).unwrap();
        story
    }

    fn run(&self, statement: &str) {
        let told = |error| panic!("seed {}, {:?}: {statement}: {error}", self.seed, self.kind);
        ask(&self.sql, statement).unwrap_or_else(told);
    }

    /// The same change to both, to the one that the view is of last.
    fn change(&self, statement: impl Fn(&str) -> String) {
        self.run(&statement("all_rows"));
        self.run(&statement("t"));
    }

    fn below(&mut self, bound: u64) -> i64 {
        (self.rng.next_u64() % bound) as i64
    }

    /// A time that is at most so many minutes ago, on a grid on which many are the same.
    fn ago(&mut self, minutes: u64) -> i64 {
        let now = self.machine.now_ns();
        let seconds = self.below(minutes * 2) * 30;
        (now - seconds * SECOND_NS) / (10 * SECOND_NS) * 10 * SECOND_NS
    }

    fn append(&mut self, minutes: u64) {
        let mut rows = String::new();
        for _ in 0..=self.below(20) {
            let time = self.ago(minutes);
            let oldest = self.machine.now_ns() - 90 * MINUTE_NS;
            self.ids.retain(|(_, time)| *time > oldest);
            let replaced = match self.below(4) {
                0 if !self.ids.is_empty() => {
                    let place = self.below(self.ids.len() as u64) as usize;
                    Some(self.ids.swap_remove(place).0)
                }
                _ => None,
            };
            self.next += i64::from(replaced.is_none());
            let id = replaced.unwrap_or(self.next);
            self.ids.push((id, time));
            let host = self.below(4);
            let host = match host {
                0 if self.kind != Kind::ByTimeAndHost => "NULL".to_owned(),
                host => format!("'h{host}'"),
            };
            let n = self.below(100);
            let n = if n < 10 { "NULL".to_owned() } else { n.to_string() };
            let (x, d) = (self.below(400) as f64 / 4.0, self.below(10_000) as f64 / 100.0);
            // Rows that are alike in what ends go by are alike.
            let label = format!("{} {}", time / SECOND_NS, host.trim_matches('\''));
            let comma = if rows.is_empty() { "" } else { ", " };
            let time = time_text(time);
            write!(rows, "{comma}('{time}', {id}, {host}, {n}, {x}, {d}, '{label}')").unwrap();
        }
        self.change(|table| format!("INSERT INTO {table} VALUES {rows}"));
    }

    fn delete(&mut self) {
        let (one, other) = (self.ago(110), self.ago(110));
        let (from, to) = (time_text(one.min(other)), time_text(one.max(other)));
        let condition = match self.below(3) {
            0 => String::new(),
            1 => format!(" AND n % 5 = {}", self.below(5)),
            _ => format!(" AND host = 'h{}'", self.below(4)),
        };
        self.change(|table| {
            format!("DELETE FROM {table} WHERE time >= '{from}' AND time < '{to}'{condition}")
        });
    }

    fn step(&mut self, step: usize) {
        match self.below(20) {
            0..=5 => self.append(2),
            6..=8 => self.append(110),
            9 | 10 => self.delete(),
            11 => self.store.flush().unwrap(),
            12 => self.store.compact(None).unwrap(),
            13..=15 => self.sql.fold_views().unwrap(),
            16 | 17 => {
                let minutes = self.below(12);
                self.machine.clock.advance_ns(minutes * MINUTE_NS);
            }
            18 => self.reopen(),
            _ => self.look_back(),
        }
        self.look(step);
    }

    fn reopen(&mut self) {
        self.store.close().unwrap();
        (self.store, self.sql) = self.machine.open();
    }

    fn expected(&self) -> Vec<String> {
        let direct = VIEW.replace("{t}", "all_rows");
        answer(&self.sql, &format!("SELECT * FROM ({direct}) ORDER BY 1, 2"))
    }

    fn look(&mut self, step: usize) {
        let expected = self.expected();
        let found = answer(&self.sql, "SELECT * FROM v ORDER BY 1, 2");
        assert_eq!(found, expected, "seed {}, {:?}, step {step}", self.seed, self.kind);
        if self.below(6) == 0 {
            self.past.push((self.store.snapshot().unwrap().seq(), expected));
        }
    }

    /// At a commit that was looked at before.
    fn look_back(&mut self) {
        let Some(last) = self.past.len().checked_sub(1) else { return };
        let place = last - self.below(last.min(5) as u64 + 1) as usize;
        let (seq, expected) = &self.past[place];
        // Nothing is kept for ever.
        let Ok(then) = self.store.at(&Moment::Commit(*seq)) else { return };
        let then = Sql::new(&then, SqlOptions::default()).unwrap();
        let found = answer(&then, "SELECT * FROM v ORDER BY 1, 2");
        assert_eq!(&found, expected, "seed {}, {:?}, at {seq}", self.seed, self.kind);
    }
}

fn tell(kind: Kind) {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => SEEDS.to_vec(),
    };
    for seed in seeds {
        println!("seed {seed}, {kind:?}");
        let mut story = Story::new(seed, kind);
        story.append(110);
        story.run(&format!("CREATE MATERIALIZED VIEW v AS {}", VIEW.replace("{t}", "t")));
        for step in 0..STEPS {
            story.step(step);
        }
        // What is folded before its table's rows expire stays. (Some have, or this would say nothing.)
        story.sql.fold_views().unwrap();
        story.machine.clock.advance_ns(200 * MINUTE_NS);
        story.store.flush().unwrap();
        story.store.compact(None).unwrap();
        assert!(
            answer(&story.sql, "SELECT count(*) FROM t")
                != answer(&story.sql, "SELECT count(*) FROM all_rows")
        );
        story.look(STEPS);
        story.sql.fold_views().unwrap();
        story.look(STEPS + 1);
    }
}

#[test]
fn a_view_of_a_table_that_keeps_all_rows_is_its_query() {
    tell(Kind::KeepsAll);
}

#[test]
fn a_view_of_a_table_by_time_and_host_is_its_query() {
    tell(Kind::ByTimeAndHost);
}

#[test]
fn a_view_of_a_table_by_id_is_its_query() {
    tell(Kind::ById);
}
