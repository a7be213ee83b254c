//! The engine through its public face. One program, so that what all tests stand on is linked once.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod altering;
mod around_damage;
mod bad_input;
mod being_created;
mod beside_damage;
mod bulk;
mod bulk_behind_row;
mod by_series;
mod commits_beside_flush;
mod compression;
mod damage;
mod damaged_past;
mod encoded_rows;
mod failing_disk;
mod feed;
mod feed_copy;
#[path = "golden/files.rs"]
mod files;
mod finer_times;
mod full_disk;
mod golden;
mod golden_stores;
mod group_appends;
mod hurried_appends;
mod keeping;
mod killed_past;
#[path = "support/kills.rs"]
mod kills;
mod large_scans;
mod long_blocks;
mod lost_files;
mod many_streams;
mod moments;
mod moments_beside;
mod provisional;
mod prune;
mod pulled_lock;
mod purge;
mod purge_beside;
#[path = "support/quota_disk.rs"]
mod quota_disk;
mod range_deletes;
mod reading_and_writing;
mod reading_beside;
mod recovery;
mod renaming;
mod repair;
mod repair_pins;
mod scrub;
mod sealed_once;
mod settings;
mod splitting;
#[path = "support/stepped_disk.rs"]
mod stepped_disk;
mod support;
mod telling;
mod unchanged_keys;
#[path = "support/until.rs"]
mod until;
mod views_and_values;
#[path = "support/watched_disk.rs"]
mod watched_disk;
