//! Segments that are used again.

use super::*;

/// Fills segments and lets them go as a store with quick flushes does.
fn churn(wal: &Wal, seqs: std::ops::RangeInclusive<u64>, bytes: usize) -> WalId {
    let mut floor = FIRST;
    for seq in seqs {
        append(wal, seq, bytes);
        if let Some(released) = wal.release_through(SeqNo(seq)).unwrap() {
            reuse_below(wal, released);
            floor = released;
        }
    }
    floor
}

#[test]
fn records_of_a_file_s_earlier_life_never_come_back() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    // All records have the same length, so old ones stand exactly where new ones would.
    let floor = churn(&wal, 1..=500, 100);
    let (records, tail) = read(&io, ReadMode::Recovery, floor).unwrap();
    let last = records.len() as u64;
    assert_eq!(seqs(&records), (501 - last..=500).collect::<Vec<u64>>());
    assert_eq!(tail.torn, None);
    assert!(io.disk.list(&dir()).unwrap().len() <= 4, "files are used again");
}

#[test]
fn a_file_used_again_has_no_records_at_first() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    churn(&wal, 1..=100, 100);
    wal.prepare_spare().unwrap();
    let next = wal.next_id();
    assert!(io.disk.exists(&segment(next.0)).unwrap());
    let (records, tail) = read(&io, ReadMode::Recovery, next).unwrap();
    assert!(records.is_empty());
    assert_eq!((tail.torn, tail.last_seq), (None, None));
    // A new writer begins after it, and the empty segment between is no gap.
    let wal = create(&io, 4096, tail.start);
    append(&wal, 101, 50);
    assert_eq!(seqs(&read(&io, ReadMode::Recovery, next).unwrap().0), [101]);
}

#[test]
fn the_next_file_is_made_when_a_fourth_of_the_first_is_full() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    append(&wal, 1, 100);
    assert!(!wal.needs_spare(), "a few commits need no other file");
    append(&wal, 2, 1000);
    assert!(wal.needs_spare());
    assert!(!wal.needs_spare(), "it is told once");
    append(&wal, 3, 100);
    assert!(!wal.needs_spare());
    append(&wal, 4, 3000);
    assert!(wal.needs_spare(), "a segment was taken");
}

#[test]
fn a_log_that_ends_in_good_order_leaves_its_last_segment_only() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    churn(&wal, 1..=300, 200);
    wal.prepare_spare().unwrap();
    assert!(wal.segments() > 2);
    let floor = wal.next_id();
    reuse_below(&wal, floor);
    wal.remove_spares();
    assert_eq!(io.disk.list(&dir()).unwrap().len(), 1);
    let (records, tail) = read(&io, ReadMode::Recovery, floor).unwrap();
    assert!(records.is_empty());
    let wal = create(&io, 4096, tail.start);
    assert_eq!(io.disk.list(&dir()).unwrap().len(), 1, "its file is used again");
    append(&wal, 301, 50);
    assert_eq!(seqs(&read(&io, ReadMode::Recovery, floor).unwrap().0), [301]);
}

#[test]
fn a_segment_made_ready_is_the_one_that_is_used_next() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    for seq in 1..=100 {
        wal.prepare_spare().unwrap();
        append(&wal, seq, 300);
    }
    assert_eq!(seqs(&recover(&io).0), (1..=100).collect::<Vec<u64>>());
}

#[test]
fn a_writer_in_a_hurry_finds_another_file_behind_the_next_segment() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    wal.prepare_spare().unwrap();
    assert_eq!(wal.segments(), 2, "a writer that has time is kept one segment ahead");
    (1..=30).for_each(|seq| append(&wal, seq, 300));
    wal.prepare_spare().unwrap();
    let names = io.disk.list(&dir()).unwrap();
    assert_eq!(names.iter().filter(|entry| entry.name.ends_with(".spare")).count(), 1);
    (31..=60).for_each(|seq| append(&wal, seq, 300));
    assert_eq!(seqs(&recover(&io).0), (1..=60).collect::<Vec<u64>>());
}

#[test]
fn files_made_ahead_get_names_of_their_own_after_a_crash() {
    let io = io();
    // As a process left it that was killed while it made files.
    io.disk.create_dir(&dir()).unwrap();
    let left = dir().join("ffffffffffffffff.spare");
    io.disk.open_log(&left, 4096).unwrap();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=100).for_each(|seq| {
        wal.prepare_spare().unwrap();
        append(&wal, seq, 300);
    });
    assert_eq!(seqs(&recover(&io).0), (1..=100).collect::<Vec<u64>>());
}

#[test]
fn segments_that_somebody_needs_are_not_released() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=100).for_each(|seq| append(&wal, seq, 200));
    let released = |seq| wal.release_through(SeqNo(seq)).unwrap();
    let last_of_oldest = (1..=100).find(|seq| released(*seq).is_some()).unwrap();
    assert!(last_of_oldest > 1);
    let floor = released(last_of_oldest).unwrap();
    assert_eq!(floor, WalId(2));
    reuse_below(&wal, floor);
    let (records, _) = read(&io, ReadMode::Recovery, floor).unwrap();
    assert_eq!(seqs(&records), (last_of_oldest + 1..=100).collect::<Vec<u64>>());
}

#[test]
fn what_recovery_handed_out_stays_as_it_is_when_its_segment_goes() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("wal");
    let io = Io::os();
    let settings = settings(4096);
    let wal = Wal::create(&io, &dir, STORE, &settings, fresh(FIRST), REUSE).unwrap();
    wal.append(SeqNo(1), &[&payload(1, 2000)], None, false).unwrap();
    drop(wal);
    let mut reader = WalReader::open(&io, &dir, STORE, ReadMode::Recovery, FIRST, None).unwrap();
    let record = reader.next_record().unwrap().unwrap();
    let kept = record.share(record.payload);
    assert!(reader.next_record().unwrap().is_none());
    let wal = Wal::create(&io, &dir, STORE, &settings, reader.tail().start, REUSE).unwrap();
    for seq in 2..=50 {
        wal.append(SeqNo(seq), &[&payload(seq, 2000)], None, false).unwrap();
        if let Some(floor) = wal.release_through(SeqNo(seq)).unwrap() {
            reuse_below(&wal, floor);
        }
    }
    assert_eq!(kept, payload(1, 2000));
}

#[test]
fn a_follower_whose_segment_was_used_again_is_told_that_the_writer_moved_on() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=3).for_each(|seq| append(&wal, seq, 100));
    let mut reader = WalReader::open(&io, &dir(), STORE, ReadMode::Follower, FIRST, None).unwrap();
    assert!(reader.next_record().unwrap().is_some());
    let position = reader.tail().position;
    churn(&wal, 4..=300, 100);
    let result = loop {
        match reader.next_record() {
            Ok(Some(record)) => assert_eq!(record.payload, payload(record.seq.0, 100)),
            other => break other,
        }
    };
    assert_eq!(result.unwrap_err().kind(), ErrorKind::NotFound);
    let again = read_from(&io, ReadMode::Follower, FIRST, Some(position));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn leftovers_of_another_length_and_old_segments_are_cleared_away_at_the_next_opening() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=300).for_each(|seq| append(&wal, seq, 200));
    let floor = wal.next_id();
    drop(wal);
    let odd = io.disk.open(&dir().join("00000000000000aa.spare"), OpenMode::CreateNew).unwrap();
    odd.write_at(0, b"too short").unwrap();
    io.disk.open(&dir().join("a stray"), OpenMode::CreateNew).unwrap();
    let (records, tail) = read(&io, ReadMode::Recovery, floor).unwrap();
    assert!(records.is_empty());
    let wal = create(&io, 4096, tail.start);
    // Eight files were kept, and one of them is in use again.
    assert_eq!(wal.segments(), 8);
    let names: Vec<String> =
        io.disk.list(&dir()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), 9, "{names:?}");
    assert!(names.contains(&"a stray".to_owned()));
}
