//! Damaged and torn logs: a prefix that holds all that was synced, or an error.

use super::*;

/// Where the record of each commit begins in the one segment, and where the last ends.
fn offsets(io: &Io) -> Vec<(u64, u64)> {
    let mut reader = WalReader::open(io, &dir(), STORE, ReadMode::Recovery, FIRST, None).unwrap();
    let mut places = Vec::new();
    let mut start = reader.tail().position.offset;
    while let Some(record) = reader.next_record().unwrap() {
        places.push((record.seq.0, start));
        start = reader.tail().position.offset;
    }
    places.push((u64::MAX, start));
    places
}

#[test]
fn a_last_record_torn_at_any_byte_is_cut_and_reported() {
    for bytes in [40, 1500] {
        let io = io();
        let wal = create(&io, 8192, fresh(FIRST));
        append(&wal, 1, 100);
        append(&wal, 2, 300);
        let whole = recover(&io).1.position.offset as usize;
        append(&wal, 3, bytes);
        let end = recover(&io).1.position.offset as usize;
        let file = file_bytes(&io, &segment(1));
        for cut in whole..end {
            let mut torn = file.clone();
            torn[cut..].fill(0);
            let io = disk_of(&[(segment(1), torn)]);
            let (records, tail) = recover(&io);
            if records.len() == 3 {
                // Only padding, or payload bytes that are zeros anyway, were cut.
                assert!(file[cut..end].iter().all(|byte| *byte == 0), "cut at {cut}");
                continue;
            }
            assert_eq!(seqs(&records), [1, 2]);
            let begun = cut > whole;
            assert_eq!(tail.torn.is_some(), begun, "cut at {cut}");
            let wal = create(&io, 8192, tail.start);
            append(&wal, 3, 5);
            assert_eq!(seqs(&recover(&io).0), [1, 2, 3], "cut at {cut}");
        }
    }
}

#[test]
fn bytes_behind_a_segments_end_are_not_read() {
    let io = io();
    let wal = create(&io, 8192, fresh(FIRST));
    append(&wal, 1, 100);
    let mut file = file_bytes(&io, &segment(1));
    file.extend(b"stray");
    let io = disk_of(&[(segment(1), file.clone())]);
    assert_eq!(seqs(&recover(&io).0), [1]);
    file.truncate(8191);
    let io = disk_of(&[(segment(1), file)]);
    let error = WalReader::open(&io, &dir(), STORE, ReadMode::Recovery, FIRST, None).unwrap_err();
    assert!(error.to_string().contains("with 8191 bytes"), "{error}");
}

#[test]
fn any_flipped_byte_gives_a_prefix_with_all_that_was_synced_or_corruption() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    for seq in 1..=40 {
        append(&wal, seq, 60 + seq as usize * 31 % 200);
        if seq == 25 {
            wal.sync_through(SeqNo(25)).unwrap();
        }
    }
    assert!(wal.segments() >= 2);
    let (all, _) = recover(&io);
    let files = files(&io);
    for (index, (path, bytes)) in files.iter().enumerate() {
        for place in 0..bytes.len() {
            let mut damaged = files.clone();
            damaged[index].1[place] ^= 0xA5;
            let disk = disk_of(&damaged);
            for mode in [ReadMode::Recovery, ReadMode::Follower] {
                match read(&disk, mode, FIRST) {
                    Ok((records, _)) => {
                        assert!(all.starts_with(&records), "{path:?} byte {place}");
                        assert!(records.len() >= 25, "{path:?} byte {place}: {}", records.len());
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{path:?} byte {place}");
                        assert!(error.path().is_some() && error.offset().is_some());
                    }
                }
            }
        }
    }
}

#[test]
fn a_hole_before_a_synced_commit_is_corruption_and_names_where() {
    let io = io();
    let wal = create(&io, 8192, fresh(FIRST));
    for seq in 1..=5 {
        append(&wal, seq, 100);
    }
    wal.sync_through(SeqNo(5)).unwrap();
    append(&wal, 6, 100);
    let places = offsets(&io);
    for &(seq, start) in places.iter().take(5) {
        let mut bytes = file_bytes(&io, &segment(1));
        bytes[start as usize..start as usize + 32].fill(0);
        let error = read(&disk_of(&[(segment(1), bytes)]), ReadMode::Recovery, FIRST).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!((error.path(), error.offset()), (Some(&*segment(1)), Some(start)), "{seq}");
    }
}

#[test]
fn a_hole_among_commits_that_nobody_synced_ends_the_log_there() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    append(&wal, 1, 100);
    wal.sync_through(SeqNo(1)).unwrap();
    // Over the end of the segment, so that a whole segment of later commits is left over.
    (2..=60).for_each(|seq| append(&wal, seq, 100));
    let places = offsets(&io);
    let mut all = files(&io);
    let hole = places[2].1 as usize;
    all[0].1[hole..hole + 8].fill(0);
    let io = disk_of(&all);
    let (records, tail) = recover(&io);
    assert_eq!(seqs(&records), [1, 2]);
    // The next writer goes on behind commit 2, and what was left over stays dead.
    let wal = create(&io, 4096, tail.start);
    append(&wal, 3, 70);
    append(&wal, 4, 70);
    wal.sync_through(SeqNo(4)).unwrap();
    append(&wal, 5, 70);
    let (records, tail) = recover(&io);
    assert_eq!(seqs(&records), [1, 2, 3, 4, 5]);
    assert_eq!(records[2].1, payload(3, 70));
    let wal = create(&io, 4096, tail.start);
    append(&wal, 6, 70);
    assert_eq!(seqs(&recover(&io).0), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_missing_segment_is_corruption_and_names_the_file() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=100).for_each(|seq| append(&wal, seq, 200));
    for missing in 1..=3 {
        let mut rest = files(&io);
        rest.retain(|(path, _)| *path != segment(missing));
        let error = read(&disk_of(&rest), ReadMode::Recovery, FIRST).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(error.path(), Some(&*segment(missing)));
    }
}

#[test]
fn the_last_segment_missing_behind_a_full_one_is_corruption() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    (1..=25).for_each(|seq| append(&wal, seq, 200));
    let mut rest = files(&io);
    assert_eq!(rest.len(), 2);
    rest.pop();
    let error = read(&disk_of(&rest), ReadMode::Recovery, FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.path(), Some(&*segment(2)));
}

#[test]
fn a_segment_of_another_store_is_corruption() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    append(&wal, 1, 10);
    let other = StoreId([1; 16]);
    let error = WalReader::open(&io, &dir(), other, ReadMode::Recovery, FIRST, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
}
