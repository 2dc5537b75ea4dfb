//! Answers of a server, whole or broken.

use std::io::{self, Write};

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes of the body after which the connection ends.
    pub(crate) cut: Option<usize>,
    /// The body is followed by spaces, for as long as the client takes them.
    pub(crate) endless: bool,
    /// Time that the client waits for it.
    pub(crate) delay: std::time::Duration,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// A content, or a range of it.
    pub(crate) fn content(content: &[u8], range: Option<std::ops::Range<usize>>) -> Self {
        match range {
            None => Self::new(200, content),
            Some(range) => {
                let shown = format!("bytes {}-{}/{}", range.start, range.end - 1, content.len());
                Self::new(206, content.get(range).unwrap_or_default()).with("content-range", shown)
            }
        }
    }

    /// Writes it; false where it ends in the middle.
    pub(crate) fn write(&self, to: &mut impl Write, is_head: bool) -> io::Result<bool> {
        if !self.delay.is_zero() {
            #[expect(clippy::disallowed_methods, reason = "a slow server is what the test asks for")]
            std::thread::sleep(self.delay);
        }
        let reason = match self.status {
            200 => "OK",
            206 => "Partial Content",
            302 => "Found",
            403 => "Forbidden",
            404 => "Not Found",
            412 => "Precondition Failed",
            503 => "Service Unavailable",
            _ => "Answer",
        };
        let length = match self.endless {
            true => "connection: close".to_owned(),
            false => format!("content-length: {}", self.body.len()),
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\n{length}\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        to.write_all(head.as_bytes())?;
        if is_head {
            return Ok(true);
        }
        let sent = self.cut.map_or(self.body.len(), |cut| cut.min(self.body.len()));
        to.write_all(self.body.get(..sent).unwrap_or_default())?;
        if self.endless {
            loop {
                to.write_all(&[b' '; 4096])?;
            }
        }
        Ok(sent == self.body.len())
    }
}
