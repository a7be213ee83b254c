//! What is wrong is said in full, with its place; and what has bounds keeps to them.

use timestrata_engine::ErrorKind;

use super::fault;
use crate::filter::{
    EXPRESSION_BYTES_MAX, Filter, NAME_BYTES_MAX, NESTING_MAX, PHRASE_BYTES_MAX, REGEXES_MAX,
};

/// Compares all of a message about an expression of one line.
#[track_caller]
fn expect(filter: &str, column: usize, problem: &str) {
    let caret = " ".repeat(column - 1) + "^";
    let expected = format!("filter, line 1, column {column}: {problem}\n  {filter}\n  {caret}");
    assert_eq!(fault(filter), expected);
}

#[test]
fn a_message_has_the_line_the_column_and_a_caret() {
    let expected = "\
filter, line 1, column 8: expected a level (trace, debug, info, warn, error, fatal), found 'loud'
  level>=loud error
         ^";
    assert_eq!(fault("level>=loud error"), expected);
    assert_eq!("level>=loud".parse::<Filter>().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn columns_count_characters_of_the_line() {
    let expected = "\
filter, line 3, column 12: expected a term or the end, found ')'
     größe 東 ) x
             ^";
    assert_eq!(fault("a\r\nb\n\t  größe 東 ) x\ny"), expected);
    expect("\"é\" )", 5, "expected a term or the end, found ')'");
}

#[test]
fn of_a_long_line_the_part_around_the_fault_is_shown() {
    let long = format!("{}) {}", "a ".repeat(100), "b ".repeat(100));
    let expected = format!(
        "filter, line 1, column 201: expected a term or the end, found ')'\n  …{}) {}…\n  {}^",
        "a ".repeat(30),
        "b ".repeat(9),
        " ".repeat(61)
    );
    assert_eq!(fault(&long), expected);
    let found = format!("level={}", "x".repeat(30));
    assert!(fault(&found).contains("found 'xxxxxxxxxxxxxxxxxxxx…'"));
    assert!(!fault("level=\u{1b}[31m").contains('\u{1b}'));
}

#[test]
fn a_term_is_expected() {
    expect("a or", 5, "expected a term, found the end");
    expect("and a", 1, "expected a term, found 'and'");
    expect("a or or b", 6, "expected a term, found 'or'");
    expect("a and AND b", 7, "expected a term, found 'AND'");
    expect("not", 4, "expected a term, found the end");
    expect("- a", 2, "expected a term, found a blank");
    expect("()", 2, "expected a term, found ')'");
    expect("=5", 1, "expected a term, found '=5'");
    expect("a )", 3, "expected a term or the end, found ')'");
    expect("(a", 3, "expected a term or \")\", found the end");
    expect("x:(a", 5, "expected a term or \")\", found the end");
    let what =
        "expected a blank behind a term (a text with parentheses or quotes in it needs quotes)";
    expect("main(x)", 5, &format!("{what}, found '(x)'"));
    expect("\"a\"b", 4, &format!("{what}, found 'b'"));
    let what = "expected a blank behind a regular expression, which begins with a slash (a path needs quotes: \
                \"/api/v1\")";
    expect("/a/x", 4, &format!("{what}, found 'x'"));
    expect("/api/v1", 6, &format!("{what}, found 'v1'"));
    expect("a path:/api/v1 b", 13, &format!("{what}, found 'v1'"));
}

/// Other systems count behind a bar; as a word it would find nothing, without a word.
#[test]
fn a_bar_alone_is_refused() {
    let what = "what stands behind a bar is asked of `stats`, not of a search; `or` stands between \
                terms, and a text needs quotes";
    expect("error | stats count by host", 7, what);
    expect("error and |", 11, "expected a term, found '|'");
    assert!("error \"|\" a|b".parse::<Filter>().is_ok());
}

#[test]
fn a_value_is_expected() {
    let what = "expected a word, \"a phrase\", a prefix* or a /regular expression/";
    expect("error: disk", 7, &format!("{what}, found a blank"));
    expect("x:", 3, &format!("{what}, found the end"));
    expect("status:>=500", 8, &format!("{what}, found '>=500'"));
    expect("x:(a `b`)", 6, &format!("{what}, found '`b`)'"));
    expect("x>=", 4, "expected a value, found the end");
    expect("x==5", 3, "expected a value, found '=5'");
    expect("x<null", 3, "expected a value that has an order, found 'null'");
    expect("level:w*", 7, "expected a level (trace, debug, info, warn, error, fatal), found 'w*'");
    let what = "expected a time (2026-11-23, 2026-11-23T08:30:00Z or nanoseconds)";
    expect("timestamp>now", 11, &format!("{what}, found 'now'"));
    expect("source_time:2026-13-01", 13, &format!("{what}, found '2026-13-01'"));
    expect("timestamp<2263-01-01", 11, &format!("{what}, found '2263-01-01'"));
}

#[test]
fn a_star_ends_a_prefix_only() {
    let what = "a star ends what a word or phrase begins with, as in conn*; elsewhere it needs quotes, or \
                a regular expression, as in /a.*b/";
    for (filter, column) in [("a*b", 2), ("*a", 1), ("**", 1), ("x:*a*", 3), ("x=a*", 4)] {
        expect(filter, column, what);
    }
}

#[test]
fn quotes_are_closed_and_escapes_known() {
    expect("a \"b", 3, "no quote closes the one that opens here");
    expect("`b", 1, "no quote closes the one that opens here");
    expect(r#""a\""#, 1, "no quote closes the one that opens here");
    expect(r#""a\"#, 1, "no quote closes the one that opens here");
    expect(r#""C:\dir""#, 4, r#"expected one of \" \\ \n \t \r; a backslash itself is \\"#);
    expect(r"`a\q`=5", 3, r"expected one of \` \\ \n \t \r; a backslash itself is \\");
    expect("\"\"", 1, "an empty phrase; for an empty text, compare with =\"\"");
}

#[test]
fn names_are_plain_or_in_backquotes() {
    let what = "a name has letters, digits and _ . - @ $ only; other names need backquotes, and a text with \
                an operator in it needs quotes";
    expect("user+agent=5", 1, what);
    expect("a [b]:c", 3, what);
    expect("`a` b", 4, "expected an operator behind a name in backquotes, found a blank");
    expect("``=5", 1, "an empty name");
}

#[test]
fn regular_expressions_are_closed_and_valid() {
    let what = "no slash closes the regular expression that opens here; a text that begins with one needs \
                quotes";
    expect("a /index.html", 3, what);
    expect(r"/a\/", 1, what);
    expect("http://a", 6, "an empty regular expression; a text with slashes needs quotes");
    expect("a x:/(/", 5, "not a regular expression: unclosed group");
    expect(
        "/a{2,1}/",
        1,
        "not a regular expression: invalid repetition count range, the start must be <= the end",
    );
}

#[test]
fn regular_expressions_are_bounded() {
    let what = "a regular expression that takes more than 1048576 bytes of memory";
    expect(r"a /\w{9999}/", 3, what);
    expect("/(a{99}){99}{99}/i", 1, what);
    let deep = format!("/{}a{}/", "(".repeat(9_999), ")".repeat(9_999));
    assert!(fault(&deep).contains("column 1: not a regular expression: exceed the maximum number"));
    let most = "/a/ ".repeat(REGEXES_MAX);
    assert!(most.parse::<Filter>().is_ok());
    assert!(fault(&(most + "/b/")).contains("column 257: more than 64 regular expressions"));
}

#[test]
fn nesting_is_bounded() {
    let what = "more than 100 parentheses and negations in each other";
    for (open, close, levels) in
        [("(", ")", 1), ("-", "", 1), ("not ", "", 1), ("!(", ")", 2), ("not (", ")", 2)]
    {
        let nested = |depth: usize| format!("{}a{}", open.repeat(depth), close.repeat(depth));
        let most = NESTING_MAX / levels;
        let filter: Filter = nested(most).parse().unwrap();
        assert_eq!(filter.to_string().parse::<Filter>().unwrap(), filter);
        for depth in [most + 1, EXPRESSION_BYTES_MAX / 6] {
            assert!(fault(&nested(depth)).contains(what), "{depth} of {open}");
        }
    }
    let within = |depth: usize| format!("x:{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(within(NESTING_MAX).parse::<Filter>().is_ok());
    assert!(fault(&within(NESTING_MAX + 1)).contains(what));
}

#[test]
fn expressions_names_and_phrases_are_bounded() {
    let parse = |text: String| text.parse::<Filter>();
    assert!(parse("a ".repeat(EXPRESSION_BYTES_MAX / 2)).is_ok());
    let message = fault(&"a".repeat(EXPRESSION_BYTES_MAX + 1));
    assert_eq!(message, "filter: 65537 bytes; at most 65536 are taken");
    let name = "n".repeat(NAME_BYTES_MAX);
    assert!(parse(format!("{name}=5 `{name}`=5")).is_ok());
    for filter in [format!("x {name}n=5"), format!("x `{name}n`=5")] {
        assert!(fault(&filter).contains("column 3: a name of 1025 bytes; at most 1024 are taken"));
    }
    let phrase = "p".repeat(PHRASE_BYTES_MAX);
    assert!(parse(format!("{phrase} \"{phrase}\" x=\"{phrase}p\"")).is_ok());
    for filter in [format!("x {phrase}p"), format!("x \"{phrase}p\"*")] {
        assert!(
            fault(&filter).contains("column 3: a phrase of 4097 bytes; at most 4096 are taken")
        );
    }
}
