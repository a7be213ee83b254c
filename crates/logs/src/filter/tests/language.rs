//! Every form of the language, on entries that it finds and entries that it doesn't.

use super::{Entry, Level, Value, parsed};

/// Whether each of these finds the entry.
fn found_by<const N: usize>(entry: &Entry, filters: [&str; N]) -> [bool; N] {
    filters.map(|filter| entry.passes(parsed(filter).root()))
}

#[track_caller]
fn finds(entry: &Entry, filters: &[&str]) {
    for filter in filters {
        assert!(entry.passes(parsed(filter).root()), "{filter} must find {entry:?}");
    }
}

#[track_caller]
fn misses(entry: &Entry, filters: &[&str]) {
    for filter in filters {
        assert!(!entry.passes(parsed(filter).root()), "{filter} must not find {entry:?}");
    }
}

#[test]
fn the_empty_expression_and_a_star_find_everything() {
    finds(&Entry::default(), &["", " \t\n", "*", "* *", "* or x", "(*)"]);
    misses(&Entry::default(), &["not *", "-*", "x", "* x"]);
}

#[test]
fn terms_side_by_side_are_all_needed() {
    let entry = Entry::new("disk is full");
    finds(&entry, &["disk full", "full disk", "disk and full", "disk AND full"]);
    misses(&entry, &["disk empty", "disk and empty"]);
}

#[test]
fn one_branch_of_or_is_enough() {
    let entry = Entry::new("disk is full");
    finds(&entry, &["disk or empty", "empty Or full", "empty or none OR full"]);
    misses(&entry, &["empty or none"]);
}

#[test]
fn not_is_a_keyword_a_minus_or_an_exclamation_mark() {
    let entry = Entry::new("disk is full");
    finds(&entry, &["not empty", "NOT empty", "-empty", "!empty", "not not disk", "--disk"]);
    finds(&entry, &["not(empty or none)", "-(empty or none)", "disk -empty"]);
    misses(&entry, &["not disk", "-disk", "!disk", "disk -full"]);
}

#[test]
fn not_binds_tightest_and_or_loosest() {
    let a = Entry::new("a");
    assert_eq!(
        found_by(&a, ["a or b c", "(a or b) c", "not b or c", "not (a or b)"]),
        [true, false, true, false]
    );
    assert_eq!(
        found_by(&a, ["not b a", "not (b a)", "not a b", "b c or a"]),
        [true, true, false, true]
    );
}

#[test]
fn keywords_are_searched_for_in_quotes_and_may_be_names() {
    let entry = Entry::new("this and that").with("or", "x");
    finds(&entry, &["\"and\"", "\"AND\" that", "or:x", "or=x", "or:or or or:x"]);
    misses(&entry, &["\"or\""]);
}

#[test]
fn a_word_is_matched_whole_and_in_any_case() {
    let entry = Entry::new("Disk FULL: sda_1, Größe 東京");
    finds(&entry, &["disk", "DISK", "full", "sda_1", "größe", "GRÖSSE or GRÖẞE", "東京"]);
    misses(&entry, &["dis", "isk", "sda", "1", "größ", "東"]);
}

#[test]
fn a_text_with_other_characters_is_a_phrase() {
    let entry = Entry::new("10.0.0.1 - Mozilla/5.0 user-agent: text/html, 50%");
    finds(&entry, &["10.0.0.1", "user-agent", "mozilla/5.0", "text/html", "50%", "wow! or 50%"]);
    finds(&entry, &["10.0.0", "0.0.1", "agent"]);
    misses(&entry, &["0.0.0", "ser-agent", "user-age", "useragent", "ext/html"]);
}

#[test]
fn a_phrase_is_found_as_it_is_between_words() {
    let entry = Entry::new("Connection  refused by [peer], \"quoted\" \\ back");
    finds(&entry, &[r#""connection  refused""#, r#""refused by [""#, r#""], ""#]);
    finds(&entry, &[r#""\"quoted\"""#, r#""\\ back""#, r#""by [peer]""#]);
    misses(&entry, &[r#""connection refused""#, r#""refused b""#, r#""onnection  refused""#]);
}

#[test]
fn a_prefix_begins_a_word_or_a_phrase() {
    let entry = Entry::new("Connection refused by 10.0.0.17");
    finds(&entry, &["conn*", "connection*", "\"connection ref\"*", "10.0.*", "\"refused \"*"]);
    misses(&entry, &["onn*", "connections*", "\"onnection ref\"*", "0.17.*"]);
}

#[test]
fn a_regular_expression_minds_case_unless_told() {
    let entry = Entry::new("GET /index.html HTTP/1.1");
    finds(&entry, &[r"/GET \/[a-z]+\.html/", "/get/i", "/^GET .*1$/", r"/HTTP\/\d/", "/NDEX/i"]);
    misses(&entry, &["/get/", "/^HTTP/", "/GET$/"]);
}

#[test]
fn what_has_no_name_is_found_anywhere_in_the_texts() {
    let entry = Entry::new("started").with("user", "Ada Byron").with("host", "web-1").with("n", 42);
    finds(&entry, &["started", "byron", "web-1", "ada started"]);
    misses(&entry, &["42", "user", "host"]);
}

#[test]
fn a_name_and_a_colon_look_into_one_field() {
    let entry = Entry::new("started").with("user", "Ada Byron").with("http.path", "/Index.html");
    finds(&entry, &["user:ada", "user:\"ada byron\"", "user:by*", "user:/^A/", "message:started"]);
    finds(&entry, &["http.path:index.html", "http.path:\"/index\"", "user:\"ada b\"*"]);
    misses(&entry, &["user:started", "message:ada", "user:/^a/", "nobody:ada", "http:index"]);
}

#[test]
fn parentheses_behind_a_name_are_about_that_field() {
    let entry = Entry::new("x").with("user", "Ada Byron").with("url", "http://a:80/?q=1");
    finds(&entry, &["user:(ada or bob)", "user:(ada byron)", "user:(ada -bob)", "user:( by* )"]);
    finds(&entry, &["user:(not (bob or eve))", "url:(http://a:80/?q=1 or x)", "user:(/^A/ *)"]);
    misses(&entry, &["user:(ada bob)", "user:(x)", "none:(not ada) user:none"]);
    finds(&entry, &["none:(not ada)", "user:(ada) x"]);
}

#[test]
fn a_text_behind_a_colon_goes_to_the_next_blank() {
    let entry = Entry::new("x").with("at", "10:30").with("url", "http://a/b?c=d");
    finds(&entry, &["at:10:30", "url:http://a/b?c=d", "url:a/b?c=d x"]);
}

#[test]
fn words_equal_numbers_by_value_and_prefixes_go_by_their_digits() {
    let entry = Entry::new("").with("status", 503).with("took", 2.5).with("ok", true);
    finds(&entry, &["status:503", "status:503.0", "status:5.03e2", "status:\"503\"", "took:2.50"]);
    finds(
        &entry,
        &["status:5*", "status:50*", "status:/^5\\d\\d$/", "took:2.*", "ok:true", "ok:t*"],
    );
    misses(
        &entry,
        &["status:50", "status:3", "took:2", "took:5", "ok:false", "status:true", "503"],
    );
}

#[test]
fn words_are_found_in_texts_of_digits() {
    let entry = Entry::new("").with("code", "0503 / 2.5");
    finds(&entry, &["code:0503", "code:2.5", "code:05*"]);
    misses(&entry, &["code:503", "code:2.50"]);
}

#[test]
fn a_star_behind_a_colon_asks_whether_there_is_such_a_field() {
    let mut entry = Entry::new("").with("status", 0).with("empty", "");
    finds(&entry, &["status:*", "empty:*", "not user:*", "message:*", "timestamp:*"]);
    misses(&entry, &["user:*", "level:*", "source_time:*"]);
    (entry.level, entry.source_time) = (Some(Level::Info), Some(0));
    finds(&entry, &["level:*", "source_time:*", "level:(* error) or status:*"]);
}

#[test]
fn equality_of_texts_minds_case_and_all_of_the_text() {
    let entry = Entry::new("Disk full").with("path", "/index.html").with("code", "404");
    finds(
        &entry,
        &["message=\"Disk full\"", "path=/index.html", "path = \"/index.html\"", "code=404"],
    );
    finds(&entry, &["code=\"404\"", "message!=disk", "path!=\"\""]);
    misses(
        &entry,
        &[
            "message=\"disk full\"",
            "message=Disk",
            "path=/index",
            "code=404.0",
            "path!=/index.html",
        ],
    );
}

#[test]
fn equality_of_numbers_goes_by_value() {
    let entry = Entry::new("").with("n", 7).with("x", 0.5).with("big", u64::MAX).with("ok", false);
    finds(&entry, &["n=7", "n=7.0", "n=007", "x=5e-1", "big=18446744073709551615", "ok=false"]);
    finds(&entry, &["x=.5", "n=7.", "x<=0.50", "big>1e19"]);
    misses(&entry, &["x=inf", "x<inf", "n=+7", "n=0x7", "n=1e999", "n=7e", "n<1_0"]);
    misses(
        &entry,
        &["n=\"7\"", "n=7.5", "big=18446744073709551616", "ok=0", "ok=\"false\"", "n!=7"],
    );
}

#[test]
fn null_is_null_or_no_field() {
    let entry = Entry::new("").with("user", "null");
    finds(&entry, &["nobody=null", "user!=null", "user=\"null\"", "user:null", "level=null"]);
    finds(&entry, &["source_time=null", "timestamp!=null"]);
    misses(&entry, &["nobody!=null", "user=null", "nobody=x", "nobody<5", "nobody>=5"]);
}

#[test]
fn what_differs_may_be_absent() {
    let entry = Entry::new("").with("user", "ada");
    finds(&entry, &["user!=bob", "nobody!=bob", "level!=error", "status!=200"]);
}

#[test]
fn numbers_are_ordered_by_value_to_the_last_digit() {
    let entry = Entry::new("").with("n", 9).with("x", -0.5).with("big", u64::MAX);
    finds(&entry, &["n<10", "n<=9", "n>8.5", "n>=9.0", "x<0", "x>-1", "x>=-0.5", "n < 10"]);
    finds(&entry, &["big>9223372036854775807", "big<1e300", "big<18446744073709551616"]);
    misses(&entry, &["n>10", "n<9", "n>9", "x>0", "big>=18446744073709551616", "n<\"10\""]);
    let entry = Entry::new("").with("id", Value::Int((1 << 53) + 1));
    finds(&entry, &["id>9007199254740992.0", "id!=9007199254740992.0"]);
    let entry = Entry::new("").with("x", f64::NAN).with("y", f64::INFINITY);
    misses(&entry, &["x<1", "x>=1", "x=1", "y<1e308", "y<5"]);
    finds(&entry, &["y>5", "y>1e308"]);
}

#[test]
fn texts_are_ordered_by_their_bytes() {
    let entry = Entry::new("m").with("version", "1.10").with("ok", true);
    finds(&entry, &["version<1.9", "version>1", "version>=\"1.10\"", "message>=m", "ok>false"]);
    misses(&entry, &["version>1.9", "message<M", "version>5", "ok<false"]);
}

#[test]
fn levels_are_ordered_and_have_many_names() {
    let mut entry = Entry::new("");
    entry.level = Some(Level::Error);
    finds(&entry, &["level=error", "level:error", "level:err", "level>=warn", "level>WARNING"]);
    finds(&entry, &["level<fatal", "level!=info", "level=\"Error\"", "level:(error or fatal)"]);
    misses(&entry, &["level=warn", "level<error", "level>error", "level:(info or warn)"]);
    entry.level = None;
    misses(&entry, &["level>=trace", "level<=fatal", "level=info"]);
    finds(&entry, &["level!=info", "level=null", "-level:*"]);
}

#[test]
fn times_are_moments_or_whole_days() {
    let noon = 1_795_435_200_000_000_000;
    let entry = Entry { timestamp: noon, source_time: Some(noon + 1), ..Entry::default() };
    finds(&entry, &["timestamp=2026-11-23T12:00:00Z", "timestamp=\"2026-11-23 13:00:00+01:00\""]);
    finds(&entry, &["timestamp=1795435200000000000", "source_time>2026-11-23T12:00:00Z"]);
    finds(&entry, &["source_time=2026-11-23T12:00:00.000000001Z"]);
    finds(&entry, &["timestamp=2026-11-23", "timestamp:2026-11-23", "timestamp<=2026-11-23"]);
    finds(&entry, &["timestamp>=\"2026-11-23\"", "timestamp>2026-11-22", "timestamp<2026-11-24"]);
    misses(&entry, &["timestamp>2026-11-23", "timestamp<2026-11-23", "timestamp!=2026-11-23"]);
    misses(&entry, &["source_time<=2026-11-23T12:00:00Z", "timestamp=2026-11-24"]);
    finds(&entry, &["timestamp:(2026-11-22 or 2026-11-23)"]);
}

#[test]
fn names_have_more_than_letters() {
    let entry = Entry::new("")
        .with("@k8s.io-x_$1", 1)
        .with("größe", 2)
        .with("two words", 3)
        .with("a`b\\", 4)
        .with("level", "loud");
    finds(&entry, &["@k8s.io-x_$1=1", "größe=2", "`two words`=3", r"`a\`b\\`=4", "`größe`:2"]);
    finds(&entry, &["`level`=loud", "`level`:loud level=null"]);
}

#[test]
fn quotes_may_hold_anything() {
    let entry = Entry::new("a\tb\nc (or) d`e");
    finds(&entry, &[r#""a\tb\nc""#, "\"a\tb\nc\"", "\"(or)\"", "\"d`e\"", "(\"a\tb\")"]);
}
