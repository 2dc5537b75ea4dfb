//! The Hugging Face hub, or a mirror of it, and the local cache that its own library uses as well.
//!
//! Files are asked for at `HF_ENDPOINT` and come to lie as that library puts them: `blobs` by checksum, `snapshots` of links,
//! `refs`. What `hf download` has put there needs no network here, and the other way round.

mod client;
mod folders;
mod offline;

pub(crate) use client::{Hub, sum_of};
pub(crate) use folders::RepositoryFolder;
pub use folders::caches;
pub use offline::forbids_network;
