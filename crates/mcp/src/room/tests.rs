use proptest::prelude::*;
use serde_json::json;

use super::*;

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        (0_usize..9_000).prop_map(|len| Value::from("ä".repeat(len))),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_answer_never_has_more_items_or_bytes_than_it_may(
        items in prop::collection::vec(any_value(), 0..30),
        items_max in 0_usize..20,
        bytes_max in 10_usize..20_000,
    ) {
        let mut room = Room::new(items_max, bytes_max);
        let mut taken = Vec::new();
        for mut item in items.clone() {
            if room.takes(&mut item) {
                taken.push(item);
            }
        }
        let bytes: usize = taken.iter().map(bytes_of).sum();
        prop_assert!(taken.len() <= items_max && bytes <= bytes_max);
        prop_assert_eq!(room.is_full(), taken.len() < items.len());
        // What is missing is told, and what isn't is not.
        let told = room.cuts("rows", "", "");
        let is_whole = taken == items;
        prop_assert_eq!(told.is_empty(), is_whole, "{:?}", told);
    }
}

#[test]
fn what_comes_behind_an_item_that_did_not_fit_is_not_taken_either() {
    let mut room = Room::new(10, 100);
    let long = |len: usize| json!(vec![1_000; len]);
    assert!(room.takes(&mut long(2)));
    assert!(!room.takes(&mut long(50)) && !room.takes(&mut long(1)));
    let [cut] = &room.cuts("rows", "ask again", "")[..] else { panic!("{room:?}") };
    assert_eq!(cut.what, "there are more rows than these 1, for the bound of 100 bytes an answer");
}

#[test]
fn a_long_text_says_how_much_of_it_was_cut() {
    let mut text = format!("{}ä", "x".repeat(9));
    assert!(shorten_text(&mut text, 10));
    assert_eq!(text, "xxxxxxxxx[+2 bytes]");
    assert!(!shorten_text(&mut text, 100));
}
