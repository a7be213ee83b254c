//! What a call fails with.

/// One of the settings, or what the server answers.
#[derive(Debug)]
pub enum PulsoraError {
    Config(String),
    Answer(String),
}

pub type Result<T> = std::result::Result<T, PulsoraError>;
