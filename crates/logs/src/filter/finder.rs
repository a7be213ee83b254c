//! A case-insensitive search for a text in bytes, many bytes at a time.
//!
//! Two bytes of it that are rare in logs are compared at all places at once, in blocks that the
//! compiler turns into vector instructions; where both fit, the rest is looked at. In UTF-8 the cases
//! of a letter mostly differ in a few bits, so that a byte and a mask stand for all of them.

use std::ops::Range;
use std::sync::LazyLock;

use timestrata_engine::words;

/// Bytes that are compared at once.
const BLOCK: usize = 64;
/// Bytes of logs, the most frequent first: counted in those of web servers, of a login service and
/// of a broker. Others are rarer.
const FREQUENT: &[u8] = b" es0t\"or:a1i2nclp,.d-h53m4u/768fg9_xwkb[])(vy={};q+zj&%?$>'@!\\#~*";

/// A text to be found, by [`words::fold`] in any case.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    /// Folded.
    text: Box<str>,
    is_ascii: bool,
    /// Where the probes' offsets count from.
    origin: usize,
    probes: [Probe; 2],
}

/// A byte of the text, but for the bits in which its cases differ.
#[derive(Debug, Clone, Copy)]
struct Probe {
    offset: usize,
    mask: u8,
    value: u8,
}

/// The places of a text in bytes, in turn.
pub(super) struct Places<'a> {
    finder: &'a Finder,
    bytes: &'a [u8],
    /// Places that begin before it are left out.
    from: usize,
    /// The block that is looked at, and where in it, a bit a byte, both probes fit and nobody has looked.
    block: usize,
    fits: u64,
    next_block: usize,
}

impl Finder {
    /// A finder of a text that isn't empty.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = words::folded(text).into_boxed_str();
        if text.is_empty() {
            return None;
        }
        let (origin, stretch) = longest_stretch(&text);
        Some(Self { is_ascii: text.is_ascii(), probes: rarest(&stretch), origin, text })
    }

    /// What is looked for, folded.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The places of the text in `bytes`, which are UTF-8. They may overlap.
    pub(super) fn places<'a>(&'a self, bytes: &'a [u8]) -> Places<'a> {
        Places { finder: self, bytes, from: 0, block: 0, fits: 0, next_block: 0 }
    }

    /// Whether both probes fit somewhere in a block.
    fn has_fit(&self, ones: &[u8; BLOCK], others: &[u8; BLOCK]) -> bool {
        let [one, other] = self.probes;
        let pairs = ones.iter().zip(others);
        // Without a branch a byte, which is what lets all of them be compared at once.
        pairs.fold(false, |any, (a, b)| any | (one.fits(*a) & other.fits(*b)))
    }

    /// Where in a block both probes fit, a bit a byte.
    fn fits(&self, ones: &[u8; BLOCK], others: &[u8; BLOCK]) -> u64 {
        let [one, other] = self.probes;
        let mut both = [0; BLOCK];
        for ((both, a), b) in both.iter_mut().zip(ones).zip(others) {
            *both = u8::from(one.fits(*a) & other.fits(*b));
        }
        // Brings the lowest bits of eight bytes together, in order.
        let pack =
            |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        both.as_chunks().0.iter().rev().fold(0, |bits, bytes| bits << 8 | pack(bytes))
    }

    /// Where the text stands, if its origin is at `at`.
    fn place(&self, bytes: &[u8], at: usize) -> Option<Range<usize>> {
        if self.is_ascii {
            let place = at..at + self.text.len();
            let found = bytes.get(place.clone())?;
            return found.eq_ignore_ascii_case(self.text.as_bytes()).then_some(place);
        }
        let (before, behind) = self.text.split_at_checked(self.origin)?;
        let mut start = at;
        for wanted in before.chars().rev() {
            let c = last_char(bytes.get(..start)?).filter(|c| words::fold(*c) == wanted)?;
            start -= c.len_utf8();
        }
        let mut end = at;
        for wanted in behind.chars() {
            let c = first_char(bytes.get(end..)?).filter(|c| words::fold(*c) == wanted)?;
            end += c.len_utf8();
        }
        Some(start..end)
    }
}

impl Probe {
    #[inline(always)]
    fn fits(self, byte: u8) -> bool {
        byte & self.mask == self.value
    }
}

impl Places<'_> {
    /// Goes on at `at`, which is not before the last place.
    pub(super) fn go_to(&mut self, at: usize) {
        self.from = at;
        if at >= self.next_block {
            (self.block, self.next_block, self.fits) = (at, at, 0);
        } else if let Some(passed) = at.checked_sub(self.block) {
            self.fits &= u64::MAX << passed;
        }
    }

    /// The next place of the origin where both probes fit.
    fn candidate(&mut self) -> Option<usize> {
        while self.fits == 0 {
            self.look_on()?;
        }
        let index = self.fits.trailing_zeros() as usize;
        self.fits &= self.fits - 1;
        Some(self.block + index)
    }

    /// Goes to the next block in which both probes fit, or to what is left behind the last.
    fn look_on(&mut self) -> Option<()> {
        let finder = self.finder;
        let rests = |at| {
            let [one, other] = finder.probes.map(|probe| self.bytes.get(at + probe.offset..));
            one.zip(other)
        };
        let (ones, others) = rests(self.next_block)?;
        let blocks = ones.as_chunks().0.iter().zip(others.as_chunks().0);
        let without =
            blocks.clone().take_while(|(ones, others)| !finder.has_fit(ones, others)).count();
        self.block = self.next_block + BLOCK * without;
        self.next_block = self.block + BLOCK;
        let mut blocks = blocks.skip(without);
        if let Some((ones, others)) = blocks.next() {
            self.fits = finder.fits(ones, others);
            return Some(());
        }
        let (ones, others) = rests(self.block)?;
        let left = ones.len().min(others.len());
        let is_left = 1_u64.checked_shl(u32::try_from(left).ok()?)? - 1;
        self.fits = finder.fits(&padded(ones), &padded(others)) & is_left;
        Some(())
    }
}

impl Iterator for Places<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let at = self.candidate()?;
            let place = self.finder.place(self.bytes, at);
            if place.as_ref().is_some_and(|place| place.start >= self.from) {
                return place;
            }
        }
    }
}

/// What there is of a block.
fn padded(bytes: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    block
}

/// The longest part of a folded text whose bytes are the same distance apart in all cases: where it
/// begins, and its bytes.
fn longest_stretch(text: &str) -> (usize, Vec<Probe>) {
    let mut stretches = vec![(0, Vec::new())];
    for (at, c) in text.char_indices() {
        if let Some((_, probes)) = stretches.last_mut()
            && !push_probes(probes, c)
        {
            stretches.push((at + c.len_utf8(), Vec::new()));
        }
    }
    stretches.into_iter().max_by_key(|(_, probes)| probes.len()).unwrap_or_default()
}

/// Appends the bytes of a folded character; if its cases differ in length, the first only, and
/// `false` comes back.
fn push_probes(probes: &mut Vec<Probe>, c: char) -> bool {
    let start = probes.len();
    let is_fixed = other_cases(c).all(|case| case.len_utf8() == c.len_utf8());
    let fixed = if is_fixed { c.len_utf8() } else { 1 };
    let mut buffer = [0; 4];
    for (offset, value) in c.encode_utf8(&mut buffer).bytes().enumerate().take(fixed) {
        probes.push(Probe { offset: start + offset, mask: 0xff, value });
    }
    for case in other_cases(c) {
        let bytes = case.encode_utf8(&mut buffer).bytes();
        for (probe, byte) in probes.iter_mut().skip(start).zip(bytes) {
            probe.mask &= !(probe.value ^ byte);
            probe.value &= probe.mask;
        }
    }
    is_fixed
}

/// The two probes that fit the fewest places.
fn rarest(probes: &[Probe]) -> [Probe; 2] {
    let mut sorted = probes.to_vec();
    sorted.sort_by_key(|probe| std::cmp::Reverse(rarity(*probe)));
    match *sorted {
        [one, other, ..] => [one, other],
        [one] => [one; 2],
        [] => [Probe { offset: 0, mask: 0, value: 0 }; 2],
    }
}

fn rarity(probe: Probe) -> usize {
    match probe.value {
        // The first bytes of characters are the same in most of a script.
        0xc0.. => 0,
        value => {
            let known = FREQUENT.iter().position(|byte| *byte == value.to_ascii_lowercase());
            known.unwrap_or(FREQUENT.len())
        }
    }
}

/// Characters that are folded to this one, which they are not.
fn other_cases(folded: char) -> impl Iterator<Item = char> {
    // Folded characters beyond ASCII, each with another case of it, in order.
    static CASES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
        let cases = ('\u{80}'..=char::MAX).map(|case| (words::fold(case), case));
        let mut cases: Vec<_> = cases.filter(|(folded, case)| folded != case).collect();
        cases.sort_unstable();
        cases
    });
    let ascii = folded.is_ascii_lowercase().then(|| folded.to_ascii_uppercase());
    let cases = if folded.is_ascii() { &[] } else { CASES.as_slice() };
    let first = cases.partition_point(|(known, _)| *known < folded);
    let cases = cases.iter().skip(first).take_while(move |(known, _)| *known == folded);
    ascii.into_iter().chain(cases.map(|(_, case)| *case))
}

/// The character that UTF-8 begins with.
pub(super) fn first_char(bytes: &[u8]) -> Option<char> {
    let width = match *bytes.first()? {
        byte @ ..0x80 => return Some(byte.into()),
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    std::str::from_utf8(bytes.get(..width)?).ok()?.chars().next()
}

/// The character that UTF-8 ends with.
pub(super) fn last_char(bytes: &[u8]) -> Option<char> {
    let last = *bytes.last()?;
    if last < 0x80 {
        return Some(last.into());
    }
    let is_first = |byte: &u8| *byte >= 0xc0;
    let tail = bytes.get(bytes.len().saturating_sub(4)..)?;
    first_char(tail.get(tail.iter().rposition(is_first)?..)?)
}
