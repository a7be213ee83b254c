//! `Store.commit`: one commit over several models, put together in a block.

mod end;
mod object;
mod staging;

pub(crate) use object::Commit;
pub(crate) use staging::Staging;
