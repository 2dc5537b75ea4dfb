//! Follows the quotation marks of separated values beside the library that splits them: where the open one stands, and how
//! long a record has become. The library takes the end of a file for the end of a quoted field and says nothing.

use std::io::{self, BufRead, Read};

/// A record that is longer than the limit, which begins on this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record that begins on line {line} is too long")]
pub(crate) struct TooLong {
    pub(crate) line: usize,
}

/// A place in a text, both from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The states of the library's own reader, as far as quotation marks matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FieldStart,
    Field,
    Quoted,
    /// After a quotation mark within a quoted field: the end of it, or the first half of a doubled one.
    QuoteInQuoted,
}

/// A reader that knows of the bytes which went through it whether they end within a quoted field.
pub(crate) struct Quotes {
    reader: Box<dyn BufRead>,
    delimiter: u8,
    quoted: bool,
    /// Most bytes of a record.
    limit: u64,
    state: State,
    /// Position of the byte that was read last.
    at: TextPosition,
    opened: TextPosition,
    record_line: usize,
    record_bytes: u64,
    ended: bool,
}

impl Quotes {
    pub(crate) fn new(reader: Box<dyn BufRead>, delimiter: u8, quoted: bool, limit: u64) -> Self {
        let at = TextPosition { line: 1, column: 0 };
        let (state, opened) = (State::FieldStart, TextPosition::default());
        Self { reader, delimiter, quoted, limit, state, at, opened, record_line: 1, record_bytes: 0, ended: false }
    }

    /// Returns the position of the quotation mark that the end of the file left open.
    pub(crate) fn unclosed(&self) -> Option<TextPosition> {
        (self.ended && self.state == State::Quoted).then_some(self.opened)
    }

    fn follow(&mut self, byte: u8) -> Result<(), TooLong> {
        // Characters count by their first byte.
        self.at.column += usize::from(byte & 0xc0 != 0x80);
        let ends = |byte| matches!(byte, b'\n' | b'\r');
        self.state = match (self.state, byte) {
            (State::FieldStart, b'"') if self.quoted => {
                self.opened = self.at;
                State::Quoted
            }
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) => State::Quoted,
            (State::QuoteInQuoted, b'"') => State::Quoted,
            (_, byte) if byte == self.delimiter || ends(byte) => State::FieldStart,
            _ => State::Field,
        };
        self.record_bytes += 1;
        if self.record_bytes > self.limit {
            return Err(TooLong { line: self.record_line });
        }
        if byte == b'\n' {
            self.at = TextPosition { line: self.at.line + 1, column: 0 };
        }
        if self.state == State::FieldStart && ends(byte) {
            (self.record_line, self.record_bytes) = (self.at.line, 0);
        }
        Ok(())
    }
}

impl Read for Quotes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        for byte in buffer.iter().take(count) {
            self.follow(*byte).map_err(io::Error::other)?;
        }
        Ok(count)
    }
}
