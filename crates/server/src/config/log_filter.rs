//! What is worth a line in the log: a level for all, and others for modules.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// What a filter must be.
pub(super) const FORM: &str = "error, warn, info, debug, trace or off, and with commas between \
                               MODULE=LEVEL, such as \"warn,timestrata_server=trace\"";

/// A filter. Where no level for all is named, that is `info`.
pub(super) fn parse(text: &str) -> Option<Targets> {
    let mut all = None;
    let mut filter = Targets::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('=') {
            None if all.is_some() => return None,
            None => all = Some(level(part)?),
            Some((module, level_of)) => {
                let module = module.trim();
                let is_name =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
                if module.is_empty() || !module.bytes().all(is_name) {
                    return None;
                }
                filter = filter.with_target(module, level(level_of.trim())?);
            }
        }
    }
    Some(filter.with_default(all.unwrap_or(LevelFilter::INFO)))
}

/// A level by its word; its numbers are nobody's.
fn level(word: &str) -> Option<LevelFilter> {
    word.parse()
        .ok()
        .filter(|_| word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !word.is_empty())
}

#[cfg(test)]
mod tests;
