//! Times and what they come to.

use timestrata_io::{Clock, OsClock};

/// The machine's monotonic clock.
#[derive(Debug, Default)]
pub struct Watch {
    clock: OsClock,
}

impl Watch {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nanoseconds since some fixed point.
    pub fn now_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    /// Seconds that some work takes, and what it gives.
    pub fn time<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
        let start = self.now_ns();
        let outcome = work()?;
        Ok(((self.now_ns() - start) as f64 / 1e9, outcome))
    }
}

impl Watch {
    /// Does some work, and adds the seconds that it takes, times `scale`, to samples.
    ///
    /// # Errors
    /// Those of the work, of which nothing is added then.
    pub fn sample<T>(
        &self,
        samples: &mut Samples,
        scale: f64,
        work: impl FnOnce() -> crate::Result<T>,
    ) -> crate::Result<T> {
        let (seconds, outcome) = self.time(work)?;
        samples.add(seconds * scale);
        Ok(outcome)
    }

    /// The same of how many a second it does, of so many.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn rate<T>(
        &self,
        samples: &mut Samples,
        count: f64,
        work: impl FnOnce() -> crate::Result<T>,
    ) -> crate::Result<T> {
        let (seconds, outcome) = self.time(work)?;
        samples.add(count / seconds);
        Ok(outcome)
    }
}

/// Values of one kind.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The value that `share` (0 to 1) of all samples are not above; NaN of none.
    pub fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }

    /// The middle one.
    pub fn median(&self) -> f64 {
        self.percentile(0.5)
    }

    /// All together.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Smallest and greatest, for notes.
    pub fn spread(&self) -> (f64, f64) {
        (self.percentile(0.0), self.percentile(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut samples = Samples::new();
        (1..=101).rev().for_each(|value| samples.add(f64::from(value)));
        assert_eq!(samples.median(), 51.0);
        assert_eq!(samples.percentile(0.99), 100.0);
        assert_eq!(samples.spread(), (1.0, 101.0));
        assert!(Samples::new().median().is_nan());
    }
}
