//! Messages and services, generated from `compass/v1/*.proto`, and their conversions from and to domain types.
//!
//! Parse, don't validate: a converted value needs no further check.

/// Generated from `compass/v1/*.proto`.
#[expect(clippy::allow_attributes, reason = "generated code")]
pub mod v1 {
    tonic::include_proto!("compass.v1");
}

impl std::fmt::Debug for v1::EnrolRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnrolRequest")
            .field("worker", &self.worker)
            .field("token_id", &self.token_id)
            .finish_non_exhaustive()
    }
}

mod convert;
pub mod delimited;
mod drawn;
pub mod session;
mod spill;
mod version;

pub use convert::{
    FailureMark, IndexMark, ParseError, digest_from_wire, encoded_under, grant_from_wire, intervals_from_wire,
    intervals_to_wire,
};
pub use drawn::{drawn_from_wire, drawn_to_wire};
pub use spill::{Envelope, MAX_SPILLED_BYTES, SPILL_BYTES, Spill, spill, unspill};
pub use version::{OLDEST_PROTOCOL, PROTOCOL_OF_NO_ROOM, PROTOCOL_VERSION, Protocols};

/// The encoded `FileDescriptorSet` of `compass/v1/*.proto`, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/compass.v1.bin"));

/// Largest encoded frame of a session, in bytes.
pub const MAX_FRAME_BYTES: usize = 256 * 1024;

/// Number of rejections of a frame after which its sender replaces it.
pub const MAX_REJECTIONS: u32 = 3;

/// Chunk size of bulk transfers, in bytes.
pub const CHUNK_BYTES: usize = 128 * 1024;
