//! The simulator's disk and schedules, and every model crashed everywhere, in one program.

mod crashes;
mod damage;
#[path = "support/directory.rs"]
mod directory;
mod disk_contract;
mod graph_crashes;
mod log_crashes;
mod models_crashes;
mod planted_faults;
mod schedule;
mod schedules;
mod sim_disk;
mod sim_disk_refusals;
mod support;
mod table_crashes;
mod timelog_crashes;
mod topic_crashes;
