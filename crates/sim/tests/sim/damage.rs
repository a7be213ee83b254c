//! Decayed bits give right rows or an error that names the file: no wrong answer.

use timestrata_sim::{
    Effort, Graphs, LogEntries, Models, StreamWorkload, Subject, Tables, Timelogs, Topics,
    Workload, damage,
};

const SEED: u64 = 3;

#[test]
fn no_bit_turned_over_gives_a_wrong_answer() {
    let letters =
        ["aleto", "agfldoft", "atfpalfco", "wsw", "atdofr", "gaf", "wwwfws", "rapdc", "tk"];
    let workloads: Vec<_> =
        letters.iter().filter_map(|letters| StreamWorkload::parse(letters)).collect();
    let report = damage(&workloads, &Effort { flips_one_in: 19, ..Effort::full(SEED) });
    println!("{report}");
    assert!(report.violations.is_empty(), "{report}");
    assert!(report.flips > 2_000 && report.flips_noticed > report.flips / 10, "{report}");
    assert!(report.spoiled > 500, "{report}");
}

fn expect_no_wrong_answer<S: Subject>(letters: &str) {
    let workloads: Vec<_> = Workload::<S>::parse(letters).into_iter().collect();
    let report = damage(&workloads, &Effort { flips_one_in: 401, ..Effort::full(SEED) });
    println!("{report}");
    assert!(report.violations.is_empty(), "{report}");
    assert!(report.flips > 100 && report.flips_noticed > 0 && report.spoiled > 0, "{report}");
}

#[test]
fn no_bit_turned_over_gives_a_wrong_answer_of_a_model() {
    expect_no_wrong_answer::<Tables>("aqfno");
    expect_no_wrong_answer::<Topics>("sqfb");
    expect_no_wrong_answer::<Graphs>("wfl");
    expect_no_wrong_answer::<LogEntries>("wfe");
    expect_no_wrong_answer::<Timelogs>("alfe");
    expect_no_wrong_answer::<Models>("axfk");
}
