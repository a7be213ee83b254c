//! `Store.commit`: one commit over several models, put together in a block.

mod end;
mod object;
mod parts;

pub(crate) use object::Commit;
