//! The parts that children of this suite play.

use timestrata_bench::Result;
use timestrata_bench::child::{part, tell};

use super::{long, recovery};

/// Plays what the arguments say.
pub(crate) fn play(arguments: impl Iterator<Item = String>) -> Result<()> {
    let (role, dir, amount) = part(arguments)?;
    match role.as_str() {
        recovery::FILL => tell(&recovery::fill(&dir, amount)?),
        recovery::RECOVER => tell(&recovery::recover(&dir)?),
        long::INGEST_NEAR | long::INGEST_ANYWHERE => tell(&long::ingest(&role, &dir, amount)?),
        _ => Err(format!("a child can't play '{role}'").into()),
    }
}
