//! Spilled bodies: a body too large for its frame is transferred first, and the frame names its digest.
//!
//! Done on the envelope, so that no kind of body is left out. Pure: the transfer is the caller's concern.

use crate::convert::{ParseError, digest_from_wire};
use crate::v1;
use compass_types::ids::Digest;
use prost::Message;

/// Largest body that stays in its frame, in bytes.
pub const SPILL_BYTES: usize = 192 * 1024;

/// Largest spilled body, in bytes: the largest result and its envelope.
pub const MAX_SPILLED_BYTES: usize = 65 * 1024 * 1024;

/// The content of a spilled body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spill {
    pub digest: Digest,
    pub bytes: Vec<u8>,
}

/// A frame of a session, from either side.
pub trait Envelope: Message + Default {
    /// The type of the body.
    type Body;

    /// Splits the frame into sequence number, acknowledgement and body.
    fn parts(self) -> (u64, u64, Option<Self::Body>);

    /// Builds a frame from its parts.
    fn of(seq: u64, ack: u64, body: Option<Self::Body>) -> Self;

    /// Builds the body that names a spilled one.
    fn naming(spilled: v1::Spilled) -> Self::Body;

    /// Returns the name of a spilled body if the frame carries one.
    fn spilled(&self) -> Option<&v1::Spilled>;
}

macro_rules! envelope {
    ($frame:ident, $module:ident) => {
        impl Envelope for v1::$frame {
            type Body = v1::$module::Body;

            fn parts(self) -> (u64, u64, Option<Self::Body>) {
                (self.seq, self.ack, self.body)
            }

            fn of(seq: u64, ack: u64, body: Option<Self::Body>) -> Self {
                Self { seq, ack, body }
            }

            fn naming(spilled: v1::Spilled) -> Self::Body {
                v1::$module::Body::Spilled(spilled)
            }

            fn spilled(&self) -> Option<&v1::Spilled> {
                match &self.body {
                    Some(v1::$module::Body::Spilled(spilled)) => Some(spilled),
                    _ => None,
                }
            }
        }
    };
}

envelope!(WorkerFrame, worker_frame);
envelope!(MasterFrame, master_frame);

/// Returns the frame to send, and the content to transfer before it if its body is larger than [`SPILL_BYTES`].
pub fn spill<F: Envelope>(frame: F) -> (F, Option<Spill>) {
    // Numbers take at most 22 bytes: for nearly every frame its length decides.
    if frame.encoded_len() <= SPILL_BYTES {
        return (frame, None);
    }
    let (seq, ack, body) = frame.parts();
    let alone = F::of(0, 0, body);
    if alone.encoded_len() <= SPILL_BYTES {
        let (_, _, body) = alone.parts();
        return (F::of(seq, ack, body), None);
    }
    let bytes = alone.encode_to_vec();
    let digest = Digest::of(&bytes);
    let spilled = v1::Spilled { digest: digest.0.to_vec(), length: bytes.len() as u64 };
    (F::of(seq, ack, Some(F::naming(spilled))), Some(Spill { digest, bytes }))
}

/// Returns the digest of the frame's spilled body, if it has one.
///
/// # Errors
/// The digest is malformed.
fn named<F: Envelope>(frame: &F) -> Result<Option<Digest>, ParseError> {
    frame.spilled().map(|spilled| digest_from_wire(&spilled.digest)).transpose()
}

/// Returns the frame with its spilled body, decoded from `bytes`.
///
/// # Errors
/// The content does not match the frame's digest, or is not a body.
pub fn unspill<F: Envelope>(frame: F, bytes: &[u8]) -> Result<F, ParseError> {
    let malformed = |reason| ParseError::Malformed { field: "spilled", reason };
    if named(&frame)? != Some(Digest::of(bytes)) {
        return Err(malformed("the content has another digest"));
    }
    let content = F::decode(bytes).map_err(|_| malformed("the content is not a frame"))?;
    if content.spilled().is_some() {
        return Err(malformed("the content is itself spilled"));
    }
    let ((seq, ack, _), (_, _, body)) = (frame.parts(), content.parts());
    let body = body.ok_or_else(|| malformed("the content has no body"))?;
    Ok(F::of(seq, ack, Some(body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_FRAME_BYTES;
    use v1::worker_frame::Body;

    /// A frame whose body has the given encoded length.
    fn of_size(bytes: usize) -> v1::WorkerFrame {
        let frame = |length| {
            let failed = v1::Failed { message: "x".repeat(length), ..Default::default() };
            v1::WorkerFrame { seq: u64::MAX, ack: u64::MAX, body: Some(Body::Failed(failed)) }
        };
        let alone = |frame: &v1::WorkerFrame| v1::WorkerFrame { seq: 0, ack: 0, ..frame.clone() }.encoded_len();
        let around = alone(&frame(bytes)) - bytes;
        let made = frame(bytes - around);
        assert_eq!(alone(&made), bytes);
        made
    }

    #[test]
    fn a_body_is_spilled_from_one_byte_beyond_the_limit_on() {
        for (bytes, is_spilled) in [(SPILL_BYTES - 1, false), (SPILL_BYTES, false), (SPILL_BYTES + 1, true)] {
            let frame = of_size(bytes);
            let (sent, content) = spill(frame.clone());
            assert_eq!((sent.spilled().is_some(), content.is_some()), (is_spilled, is_spilled), "{bytes}");
            assert!(sent.encoded_len() <= MAX_FRAME_BYTES);
            assert_eq!((sent.seq, sent.ack), (frame.seq, frame.ack));
            let whole = match content {
                None => sent,
                Some(content) => {
                    assert_eq!(sent.spilled().map(|spilled| spilled.length), Some(bytes as u64));
                    unspill(sent, &content.bytes).unwrap()
                }
            };
            assert_eq!(whole, frame);
        }
    }

    #[test]
    fn content_that_is_not_what_was_named_is_refused() {
        let (sent, content) = spill(of_size(SPILL_BYTES + 1));
        let mut bytes = content.unwrap().bytes;
        bytes[0] ^= 1;
        assert!(unspill(sent.clone(), &bytes).is_err());
        let naming = |bytes: &[u8]| {
            let spilled = v1::Spilled { digest: Digest::of(bytes).0.to_vec(), length: bytes.len() as u64 };
            v1::WorkerFrame { body: Some(Body::Spilled(spilled)), ..Default::default() }
        };
        for content in [b"not a frame".to_vec(), Vec::new(), sent.encode_to_vec()] {
            assert!(unspill(naming(&content), &content).is_err());
        }
        assert!(unspill(of_size(100), b"").is_err(), "not a spilled body");
    }
}
