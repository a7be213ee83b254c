//! Workloads: words over a small alphabet of steps.

use std::fmt;

use timestrata_io::{Rng, SeededRng};

use crate::letter::Letter;
use crate::runner::mix;
use crate::subject::Step;

/// Steps, one after the other, on a new store. Crash points are taken in the last
/// `explored` of them: those of earlier ones are the business of shorter workloads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Workload<S> {
    steps: Vec<Letter<S>>,
    explored: usize,
}

impl<S: Step> Workload<S> {
    /// A workload by its letters (see [`Letter`]), explored in its last step;
    /// `None` if a letter has no meaning.
    pub fn parse(letters: &str) -> Option<Self> {
        let steps: Vec<_> = letters.chars().map(Letter::parse).collect::<Option<_>>()?;
        Some(Self { explored: steps.len().min(1), steps })
    }

    /// The same, explored from the first step on, and the making of the store too.
    #[must_use]
    pub fn explored_whole(mut self) -> Self {
        self.explored = self.steps.len() + 1;
        self
    }

    /// `prefix` followed by every word of `length` letters, explored in its last letter.
    pub fn all(prefix: &str, length: u32) -> Vec<Self> {
        let alphabet = Letter::all();
        let letters = alphabet.len();
        let start = Self::parse(prefix).map(|workload| workload.steps).unwrap_or_default();
        let word = |number: usize| {
            let mut steps = start.clone();
            let digits = (0..length).rev().map(|place| number / letters.pow(place) % letters);
            steps.extend(digits.map(|digit| alphabet[digit].1));
            Self { steps, explored: 1 }
        };
        (0..letters.pow(length)).map(word).collect()
    }

    /// Every workload of up to `length` steps, the making of the store alone included.
    pub fn short(length: u32) -> Vec<Self> {
        let empty = Self { steps: Vec::new(), explored: 1 };
        std::iter::once(empty)
            .chain((1..=length).flat_map(|length| Self::all("", length)))
            .collect()
    }

    /// Longer ones, each with a reason, explored in every step.
    pub fn chosen() -> Vec<Self> {
        let chosen = S::CHOSEN.iter().copied().filter_map(Self::parse);
        chosen.map(Self::explored_whole).collect()
    }

    /// Words of `length` letters drawn by a seed, explored in every step.
    pub fn drawn(seed: u64, count: usize, length: usize) -> Vec<Self> {
        let rng = SeededRng::new(seed);
        let alphabet = Letter::all();
        let letter = || alphabet[rng.next_u64() as usize % alphabet.len()].1;
        (0..count)
            .map(|_| Self { steps: (0..length).map(|_| letter()).collect(), explored: length + 1 })
            .collect()
    }

    /// The steps.
    pub fn steps(&self) -> &[Letter<S>] {
        &self.steps
    }

    /// A number of its own, so that it gives the same wherever it is run.
    pub(crate) fn number(&self) -> u64 {
        let alphabet = Letter::all();
        let step = |step: &Letter<S>| alphabet.iter().position(|(_, known)| known == step);
        self.steps.iter().filter_map(step).fold(0, |number, step| mix(number, &[step as u64]))
    }

    /// The first step whose crash points are taken; `None`: from the making of the store on.
    pub(crate) fn explored_from(&self) -> Option<usize> {
        self.steps.len().checked_sub(self.explored)
    }
}

impl<S: Step> fmt::Display for Workload<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alphabet = Letter::all();
        self.steps.iter().try_for_each(|step| {
            let known = alphabet.iter().find(|(_, known)| known == step);
            write!(f, "{}", known.map_or('?', |(letter, _)| *letter))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::letter::Letter;
    use crate::subject::Step;
    use crate::{
        GraphStep, LogStep, StreamStep, StreamWorkload, TableStep, TimelogStep, TopicStep, Workload,
    };

    fn check_letters<S: Step>() {
        let letters: String = Letter::<S>::all().iter().map(|(letter, _)| *letter).collect();
        let workload = Workload::<S>::parse(&letters).unwrap();
        assert_eq!(workload.to_string(), letters);
        let steps: BTreeSet<char> = letters.chars().collect();
        assert_eq!(workload.steps().len(), steps.len());
        assert_eq!(Workload::<S>::parse("a?"), None);
        assert_eq!(Workload::<S>::chosen().len(), S::CHOSEN.len());
    }

    #[test]
    fn letters_name_a_workload() {
        check_letters::<StreamStep>();
        check_letters::<TableStep>();
        check_letters::<TopicStep>();
        check_letters::<GraphStep>();
        check_letters::<LogStep>();
        check_letters::<TimelogStep>();
    }

    #[test]
    fn all_words_of_a_length_are_there_once() {
        let words = StreamWorkload::all("af", 2);
        let names: BTreeSet<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!((words.len(), names.len()), (324, 324));
        assert!(names.contains("afdc"));
    }
}
