//! What is written reads back, and no text is too strange to be read.

use proptest::prelude::*;

use super::{any_text, parsed};
use crate::filter::Filter;

#[track_caller]
fn expect_agreed(filter: &str, agreed: &str) {
    assert_eq!(parsed(filter).to_string(), agreed);
    assert_eq!(parsed(agreed), parsed(filter), "{agreed}");
}

#[test]
fn expressions_are_written_in_one_form() {
    expect_agreed("  ", "*");
    expect_agreed("a AND b OR c", "a b or c");
    expect_agreed("a (b c) * (d or (e or f))", "a b c (d or e or f)");
    expect_agreed("!a -(b c) not not d", "not a not (b c) not not d");
    expect_agreed("x:(a or -b*)", "x:a or not x:b*");
    expect_agreed("user-agent \"AND\" Disk \"disk\"", "\"user-agent\" \"AND\" Disk disk");
    expect_agreed("a != 5 not b=5 level:WARN", "a!=5 b!=5 level=WARN");
    expect_agreed("`a`:x `level`=5 `a b`:* x=a", "a:x `level`=5 `a b`:* x=\"a\"");
    expect_agreed("timestamp>=\"2026-11-23 10:00\"", "timestamp>=\"2026-11-23 10:00\"");
    expect_agreed("x=null y=1e-3 z=\"null\"", "x=null y=1e-3 z=\"null\"");
    expect_agreed(r"/a\/b\\\/c/i", r"/a\/b\\\/c/i");
    expect_agreed(r#""a\"b\\c" "#, r#""a\"b\\c""#);
    expect_agreed("not *", "not *");
}

/// An expression, made of what there may be.
pub(super) fn any_expression() -> impl Strategy<Value = String> {
    let quoted = |quote: char| {
        any_text(6).prop_map(move |text| {
            let text = text.replace('\\', "\\\\").replace(quote, &format!("\\{quote}"));
            format!("{quote}x{text}{quote}")
        })
    };
    let regex =
        prop::sample::select(vec!["/a b/", "/^1/i", r"/ a\/ /", "/^(true|1) b/", "/ 1 /", "/^a$/"]);
    let pattern = prop_oneof![
        prop::sample::select(vec![
            "a", "A", "b*", "1", "10", "1e1", "true", "1*", "東", "a-b", "é*", "*"
        ])
        .prop_map(str::to_owned),
        quoted('"'),
        quoted('"').prop_map(|text| text + "*"),
        regex.prop_map(str::to_owned),
    ];
    let name = prop_oneof![
        prop::sample::select(vec!["message", "a", "b", "n", "`level`", "`b`"])
            .prop_map(str::to_owned),
        quoted('`'),
    ];
    let value = prop_oneof![
        prop::sample::select(vec!["a", "1", "10", "0.1", "1e1", "true", "null", "A"])
            .prop_map(str::to_owned),
        quoted('"'),
    ];
    let equals = prop::sample::select(vec!["=", "!=", " = "]);
    let compares = prop::sample::select(vec!["<", "<=", ">", " >="]);
    let term = prop_oneof![
        4 => pattern.clone(),
        3 => (name.clone(), pattern.clone()).prop_map(|(name, pattern)| format!("{name}:{pattern}")),
        2 => (name.clone(), pattern.clone(), pattern)
            .prop_map(|(name, a, b)| format!("{name}:({a} or not {b})")),
        2 => (name.clone(), equals, value.clone()).prop_map(|(name, op, value)| name + op + &value),
        1 => (name, compares, prop::sample::select(vec!["a", "1", "0.1"]))
            .prop_map(|(name, op, value)| name + op + value),
        1 => prop::sample::select(vec!["level>=warn", "level:err", "level!=null", "timestamp>5",
            "source_time=2026-11-23"]).prop_map(str::to_owned),
    ];
    term.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.join(" ")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.join(" or ")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            inner.prop_map(|inner| format!("-{inner}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_written_reads_back_as_the_same_tree(filter in any_expression()) {
        let filter = parsed(&filter);
        let written = filter.to_string();
        prop_assert_eq!(&parsed(&written), &filter, "{}", written);
        prop_assert_eq!(parsed(&written).to_string(), written);
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,60}") {
        let _ = text.parse::<Filter>().map(|filter| filter.to_string());
    }

    #[test]
    fn no_order_of_tokens_is_too_strange(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "a", "name", "level", "timestamp", "and", "or", "not", " ", " ", "(", ")", "\"", "`", "/",
                "\\", ":", "=", "!=", "<", ">=", "-", "!", "*", "5", "null", "é", "\n", "warn", "i",
            ]),
            0..24,
        )
    ) {
        if let Ok(filter) = tokens.concat().parse::<Filter>() {
            prop_assert_eq!(parsed(&filter.to_string()), filter);
        }
    }
}
