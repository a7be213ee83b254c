//! Facts are kept and sent: they are small, come back as they were, and damaged ones do no harm.

use proptest::prelude::*;
use timestrata_codegraph::{Facts, Language, resolve};

use crate::told::facts;

const SOURCE: &str = "import os\nclass A(B):\n  def f(self): self.g(os.path.join('a'))\n";

fn coded(facts: &Facts) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(facts, &mut bytes).unwrap();
    bytes
}

#[test]
fn facts_come_back_as_they_were() {
    let facts = facts(Language::Python, SOURCE);
    let back: Facts = ciborium::from_reader(coded(&facts).as_slice()).unwrap();
    assert_eq!(back, facts);
}

#[test]
fn a_call_takes_few_bytes() {
    let one = coded(&facts(Language::Python, "f()\n")).len();
    let many = coded(&facts(Language::Python, &"f()\n".repeat(1_000))).len();
    assert!((many - one) / 999 <= 12, "{} bytes a call", (many - one) / 999);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_facts_are_refused_or_do_no_harm(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = coded(&facts(Language::Python, SOURCE));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(facts) = ciborium::from_reader::<Facts, _>(bytes.as_slice()) {
            let _ = resolve(&[("a.py", &facts), ("b.py", &facts)]);
        }
    }
}
