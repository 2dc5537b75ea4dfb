//! Length-delimited messages over a byte stream: the link between an agent and its engine child.
//!
//! Blocking and async forms of the same framing: a little-endian u32 length, then the message. A length beyond
//! [`MAX_MESSAGE_BYTES`] is an error: the two ends are out of step.

use prost::Message;
use std::io::{self, Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Largest message on the engine link, in bytes: a part of a plan may hold all texts of a data set.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;

fn checked(length: u32) -> io::Result<usize> {
    let length = length as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {length} bytes on the engine link"),
        ));
    }
    Ok(length)
}

fn framed(message: &impl Message) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(message.encode_to_vec());
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn decoded<M: Message + Default>(bytes: &[u8]) -> io::Result<M> {
    M::decode(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes one message and flushes.
///
/// # Errors
/// An error of the stream.
pub fn write(stream: &mut impl Write, message: &impl Message) -> io::Result<()> {
    stream.write_all(&framed(message))?;
    stream.flush()
}

/// Reads one message; `None` at a clean end of the stream.
///
/// # Errors
/// An error of the stream, or [`io::ErrorKind::InvalidData`] for bytes that are not a message.
pub fn read<M: Message + Default>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut bytes = vec![0; checked(u32::from_le_bytes(length))?];
    stream.read_exact(&mut bytes)?;
    decoded(&bytes).map(Some)
}

/// Async form of [`write()`].
///
/// # Errors
/// An error of the stream.
pub async fn write_async(stream: &mut (impl AsyncWrite + Unpin), message: &impl Message) -> io::Result<()> {
    stream.write_all(&framed(message)).await?;
    stream.flush().await
}

/// Async form of [`read()`]. Not cancel safe: read on a task of its own.
///
/// # Errors
/// As [`read()`].
pub async fn read_async<M: Message + Default>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let mut bytes = vec![0; checked(u32::from_le_bytes(length))?];
    stream.read_exact(&mut bytes).await?;
    decoded(&bytes).map(Some)
}
