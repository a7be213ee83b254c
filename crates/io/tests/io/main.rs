//! Disks, locks and randomness.

mod disk_contract;
mod memory_disk;
mod os_lock;
mod random;
