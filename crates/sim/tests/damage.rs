//! Decayed bits give right rows or an error that names the file: no wrong answer.

use timestrata_sim::{Effort, StreamWorkload, damage};

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
}
