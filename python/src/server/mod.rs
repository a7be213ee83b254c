//! `_Server`: a server that is asked over HTTP. What `timestrata.connect` stands on; the classes that people use are
//! Python's, in `timestrata/remote`.

mod body;
mod entries;
mod object;

pub(crate) use object::Server;
