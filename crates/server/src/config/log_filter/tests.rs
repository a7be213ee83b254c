use tracing::Level;

use super::*;

#[test]
fn modules_have_levels_of_their_own() {
    let filter = parse("warn, timestrata::compaction=debug,timestrata_server=trace").unwrap();
    for (module, level, passes) in [
        ("timestrata::compaction", Level::DEBUG, true),
        ("timestrata::compaction", Level::TRACE, false),
        ("timestrata::flush", Level::INFO, false),
        ("timestrata::flush", Level::WARN, true),
        ("timestrata_server::layers", Level::TRACE, true),
        ("hyper", Level::INFO, false),
    ] {
        assert_eq!(filter.would_enable(module, &level), passes, "{module} {level}");
    }
    let alone = parse("timestrata::flush=off").unwrap();
    assert!(alone.would_enable("hyper", &Level::INFO));
    assert!(!alone.would_enable("timestrata::flush", &Level::ERROR));
    assert!(!parse("error").unwrap().would_enable("hyper", &Level::WARN));
}

#[test]
fn what_is_no_filter_is_refused() {
    for text in ["", "loud", "info,warn", "a=loud", "=info", "a b=info", "info,", "a=", "3", "a=1"]
    {
        assert!(parse(text).is_none(), "{text:?}");
    }
}
