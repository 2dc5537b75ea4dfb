//! Mutates encoded messages along their fields, so that most mutants still decode and reach what lies behind the decoder:
//! extreme numbers, repeated, dropped and exchanged fields, and bytes of no sense.

use compass_types::seeded::Rng;

/// Numbers at which arithmetic goes wrong.
const EXTREMES: [u64; 12] = [
    0,
    1,
    2,
    7,
    i32::MAX as u64,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX - 1,
    u64::MAX,
];

const FLOATS: [f64; 7] = [0.0, -1.0, 1e308, -1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

#[derive(Clone, Debug)]
enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Field {
    number: u64,
    value: Value,
}

/// A mutant of an encoded message.
pub(super) fn mutant(message: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = message.to_vec();
    for _ in 0..rng.between(1, 3) {
        bytes = match fields(&bytes).filter(|_| !rng.chance(50)) {
            Some(mut fields) => {
                mutate(&mut fields, rng);
                encoded(&fields)
            }
            None => garbled(bytes, rng),
        };
    }
    bytes
}

fn mutate(fields: &mut Vec<Field>, rng: &mut Rng) {
    let at = rng.below(fields.len() as u64) as usize;
    let Some(field) = fields.get_mut(at) else { return };
    match rng.below(10) {
        0 => drop(fields.remove(at)),
        1 => {
            let again = field.clone();
            fields.insert(at, again);
        }
        2 => field.number = rng.between(1, 24),
        _ => match &mut field.value {
            Value::Varint(number) => *number = extreme(*number, rng),
            Value::Fixed64(float) => *float = FLOATS[rng.below(7) as usize].to_le_bytes(),
            Value::Fixed32(bits) => *bits = (extreme(0, rng) as u32).to_le_bytes(),
            Value::Bytes(bytes) => *bytes = mutant_of_bytes(bytes, rng),
        },
    }
}

fn mutant_of_bytes(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    // Text with numbers in it is JSON here.
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.starts_with(['{', '['])
        && let Some(start) = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).nth(rng.below(8) as usize)
    {
        let end = text[start.0..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| start.0 + length);
        return format!("{}{}{}", &text[..start.0], extreme(0, rng), &text[end..]).into_bytes();
    }
    if fields(bytes).is_some_and(|fields| !fields.is_empty()) && !rng.chance(100) {
        return mutant(bytes, rng);
    }
    garbled(bytes.to_vec(), rng)
}

fn extreme(number: u64, rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        _ => EXTREMES[rng.below(EXTREMES.len() as u64) as usize],
    }
}

fn garbled(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let at = rng.below(bytes.len() as u64) as usize;
    match rng.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.below(256) as u8),
        2 => bytes.extend(std::iter::repeat_n(rng.below(256) as u8, rng.below(40) as usize)),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.below(8)),
    }
    bytes
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The fields of a message; `None` for bytes that are none.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Fixed64(*bytes.split_off(..8)?.first_chunk()?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Value::Bytes(bytes.split_off(..length)?.to_vec())
            }
            5 => Value::Fixed32(*bytes.split_off(..4)?.first_chunk()?),
            _ => return None,
        };
        fields.push(Field { number: tag >> 3, value });
    }
    Some(fields)
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn encoded(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field { number, value } in fields {
        let (kind, bytes) = match value {
            Value::Varint(number) => {
                let mut bytes = Vec::new();
                put_varint(*number, &mut bytes);
                (0, bytes)
            }
            Value::Fixed64(bits) => (1, bits.to_vec()),
            Value::Bytes(inner) => {
                let mut bytes = Vec::new();
                put_varint(inner.len() as u64, &mut bytes);
                bytes.extend(inner);
                (2, bytes)
            }
            Value::Fixed32(bits) => (5, bits.to_vec()),
        };
        put_varint(number << 3 | kind, &mut out);
        out.extend(bytes);
    }
    out
}
