//! A board as TensorBoard's event file: TFRecords of protobuf `Event` messages (tensorflow/core/util/event.proto).

use super::board::Board;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// The bytes of an event file: a scalar `dataset/metric` for every number of every entry that has a step. The time of an event
/// is its step in seconds, so that the same board gives the same bytes.
pub fn events(board: &Board) -> Vec<u8> {
    let version = Event { file_version: Some("brain.Event:2".into()), ..Event::default() };
    let mut bytes = record(&version.encode_to_vec());
    for entry in &board.entries {
        let Some(step) = entry.step else { continue };
        let value = board.datasets.iter().flat_map(|dataset| {
            let cells = entry.cells.get(dataset).into_iter().flatten();
            cells.map(move |cell| Value {
                tag: format!("{dataset}/{}", cell.metric),
                simple_value: Some(cell.value as f32),
            })
        });
        let summary = Some(Summary { value: value.collect() });
        let event = Event { wall_time: step as f64, step: step as i64, file_version: None, summary };
        bytes.extend(record(&event.encode_to_vec()));
    }
    bytes
}

/// Length, its checksum, the data, their checksum; little-endian.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut bytes = length.to_vec();
    bytes.extend(masked(&length).to_le_bytes());
    bytes.extend(data);
    bytes.extend(masked(data).to_le_bytes());
    bytes
}

/// TFRecord's mask over CRC-32C.
fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: event files are small.
fn crc32c(data: &[u8]) -> u32 {
    let step = |mut sum: u32, byte: &u8| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
        }
        sum
    };
    !data.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C (RFC 3720, B.4: 32 bytes of zeros), and a file as TensorBoard's own writer begins it.
    #[test]
    fn checksums_and_the_first_record() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        let board = Board { entries: Vec::new(), datasets: Vec::new(), averaged: Vec::new(), notes: Vec::new() };
        let bytes = events(&board);
        assert_eq!(bytes[..8], 15u64.to_le_bytes());
        assert_eq!(&bytes[12..bytes.len() - 4], b"\x1a\x0dbrain.Event:2");
    }
}
