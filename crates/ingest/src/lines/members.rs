//! The members of a JSON object, or of another line of names and values, while they are read.
//!
//! Nested objects are written in the order in which they open, so the members of all objects that are still open are one
//! stretch of memory, and those of the innermost object are at its end.

use timestrata_values::cbor;
use twox_hash::XxHash3_128;

use super::roles::Role;

/// Names among which a repeated one is looked for pair by pair.
const PAIRS_MAX: usize = 24;

/// The members of an object, and of the objects in them that are being read; see
/// [`read_object`](super::read_object).
#[derive(Debug, Default)]
pub struct Members {
    /// Names and values in turn, as CBOR items.
    bytes: Vec<u8>,
    /// Those of objects that are not closed.
    list: Vec<Member>,
    /// The first name that an object had more than once.
    repeated: Option<String>,
    /// Hashes of names while they are compared.
    hashes: Vec<u64>,
}

/// A name and its value.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// Of the name.
    hash: u64,
    start: usize,
    /// Where the text of the name begins.
    name: usize,
    value: usize,
    end: usize,
    role: Option<Role>,
    /// The time that the value is, where its item doesn't tell or not as exactly.
    time: Option<i64>,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Its name.
    pub name: &'a str,
    /// The value as a CBOR item.
    pub value: &'a [u8],
    pub(super) role: Option<Role>,
    pub(super) time: Option<i64>,
}

/// A list or an object that is being written.
#[derive(Debug)]
#[must_use]
pub(super) struct Open {
    /// Where its head belongs, for which one byte is left.
    head: usize,
    /// The number of members before its own.
    first: usize,
}

/// What becomes of values that have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// The last one stays, and the name is told.
    Last,
    /// They become one list.
    List,
}

impl Members {
    /// Without any, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.repeated = None;
    }

    /// Gives back the memory of long ones: at most so many bytes and members are kept.
    pub fn shrink(&mut self, bytes_max: usize, members_max: usize) {
        self.clear();
        self.bytes.shrink_to(bytes_max);
        self.list.shrink_to(members_max);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends them as one CBOR map.
    pub fn write_map(&self, out: &mut Vec<u8>) {
        cbor::head(out, cbor::MAP, self.list.len() as u64);
        out.extend_from_slice(&self.bytes);
    }

    /// The first name that was there more than once and whose last value stayed.
    pub(super) fn repeated(&self) -> Option<&str> {
        self.repeated.as_deref()
    }

    /// Begins a member, which may have a role in an entry. Its value is what is appended to
    /// [`out`](Self::out) before [`end`](Self::end).
    pub(super) fn begin(&mut self, name: &str, role: Option<Role>) -> usize {
        let start = self.bytes.len();
        cbor::text(&mut self.bytes, name);
        let value = self.bytes.len();
        self.list.push(Member {
            hash: XxHash3_128::oneshot(name.as_bytes()) as u64,
            start,
            name: value - name.len(),
            value,
            end: value,
            role,
            time: None,
        });
        self.list.len() - 1
    }

    /// Ends the member that [`begin`](Self::begin) gave this number.
    pub(super) fn end(&mut self, member: usize) {
        let end = self.bytes.len();
        if let Some(member) = self.list.get_mut(member) {
            member.end = end;
        }
    }

    /// Where items are appended.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Says which time the value of a member is, if it is one.
    pub(super) fn set_time(&mut self, member: usize, time: Option<i64>) {
        if let Some(member) = self.list.get_mut(member) {
            member.time = time;
        }
    }

    /// Begins a list or an object.
    pub(super) fn open(&mut self) -> Open {
        let head = self.bytes.len();
        self.bytes.push(0);
        Open { head, first: self.list.len() }
    }

    /// Ends a list of so many items.
    pub(super) fn close_list(&mut self, open: Open, items: u64) {
        self.write_head(open.head, cbor::LIST, items);
    }

    /// Ends an object, whose members are those since it was opened.
    pub(super) fn close_object(&mut self, open: Open, repeats: Repeats) {
        self.settle(open.first, repeats);
        let members = self.list.len() - open.first;
        self.list.truncate(open.first);
        self.write_head(open.head, cbor::MAP, members as u64);
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        self.list.iter().map(|member| Item {
            name: self.name(member),
            value: self.bytes.get(member.value..member.end).unwrap_or_default(),
            role: member.role,
            time: member.time,
        })
    }

    /// Leaves each name once among the members from this number on.
    pub(super) fn settle(&mut self, first: usize, repeats: Repeats) {
        if !self.may_repeat(first) {
            return;
        }
        let members = self.list.split_off(first);
        let Some(start) = members.first().map(|member| member.start) else { return };
        let mut by_name: Vec<&Member> = members.iter().collect();
        by_name.sort_by_key(|member| (member.hash, self.name(member)));
        let same = |a: &&Member, b: &&Member| self.name(a) == self.name(b);
        let mut groups: Vec<&[&Member]> = by_name.chunk_by(same).collect();
        if repeats == Repeats::Last {
            let repeated = groups.iter().find(|group| group.len() > 1);
            let name = repeated.and_then(|group| group.first()).map(|member| self.name(member));
            let name = name.map(str::to_owned);
            self.repeated = self.repeated.take().or(name);
            for group in &mut groups {
                *group = group.get(group.len() - 1..).unwrap_or_default();
            }
        }
        groups.sort_by_key(|group| group.first().map(|member| member.start));
        self.rewrite(start, &groups);
    }

    /// Whether two members from this number on have the same name: it may be said of others too.
    pub(super) fn may_repeat(&mut self, first: usize) -> bool {
        let members = self.list.get(first..).unwrap_or_default();
        if members.len() <= PAIRS_MAX {
            let mut rest = members;
            while let Some((member, others)) = rest.split_first() {
                if others.iter().any(|other| other.hash == member.hash) {
                    return true;
                }
                rest = others;
            }
            return false;
        }
        self.hashes.clear();
        self.hashes.extend(members.iter().map(|member| member.hash));
        self.hashes.sort_unstable();
        !self.hashes.is_sorted_by(|a, b| a < b)
    }

    /// Puts these in the place of all members from `start` on; where there are several of a name, as
    /// a list.
    fn rewrite(&mut self, start: usize, groups: &[&[&Member]]) {
        let old = self.bytes.split_off(start);
        let old = |from: usize, to: usize| old.get(from - start..to - start).unwrap_or_default();
        for group in groups {
            let Some(first) = group.first() else { continue };
            let start = self.bytes.len();
            self.bytes.extend_from_slice(old(first.start, first.value));
            let value = self.bytes.len();
            if group.len() > 1 {
                cbor::head(&mut self.bytes, cbor::LIST, group.len() as u64);
            }
            for member in *group {
                self.bytes.extend_from_slice(old(member.value, member.end));
            }
            let name = value - (first.value - first.name);
            let end = self.bytes.len();
            let time = first.time.filter(|_| group.len() == 1);
            self.list.push(Member { start, name, value, end, time, ..**first });
        }
    }

    /// Writes the head of a list or an object into the byte that was left for it, and makes room
    /// behind that where it needs more.
    fn write_head(&mut self, at: usize, major: u8, number: u64) {
        match (cbor::short_head(major, number), self.bytes.get_mut(at)) {
            (Some(head), Some(byte)) => *byte = head,
            _ => {
                let mut head = Vec::new();
                cbor::head(&mut head, major, number);
                self.bytes.splice(at..=at, head);
            }
        }
    }

    fn name(&self, member: &Member) -> &str {
        let name = self.bytes.get(member.name..member.value).unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }
}
