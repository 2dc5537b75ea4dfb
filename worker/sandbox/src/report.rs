//! Private channel to the harness: request and token are sent, lines are received. A line with the token proves that
//! the program ran to its end; any other line is a failure, which needs no proof, or noise of the program.

use crate::outcome::ProgramOutcome;
use std::fs::File;
use std::io::{self, Read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// More than the harness ever sends; after more than this without a line the channel counts as closed.
const MAX_BUFFERED: usize = 64 * 1024;

pub(crate) struct Channel {
    stream: UnixStream,
    token: String,
    buffer: Vec<u8>,
}

impl Channel {
    pub(crate) fn new(stream: std::os::unix::net::UnixStream, token: String) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, token, buffer: Vec::new() })
    }

    /// Sends the request, waits until the harness is ready to run the program, and sends the token. Returns false if
    /// the channel closed.
    pub(crate) async fn begin(&mut self, request: &str) -> bool {
        let begun = async {
            self.stream.write_all(request.as_bytes()).await?;
            self.stream.write_all(b"\n").await?;
            while self.line().await.ok_or(io::ErrorKind::UnexpectedEof)? != b"ready" {}
            self.stream.write_all(self.token.as_bytes()).await?;
            self.stream.shutdown().await
        };
        begun.await.is_ok()
    }

    /// Reads the harness's report; `None` if the channel closes without one. Cancel safe.
    pub(crate) async fn outcome(&mut self) -> Option<ProgramOutcome> {
        loop {
            let line = self.line().await?;
            if line.starts_with(self.token.as_bytes()) {
                return Some(ProgramOutcome::Passed);
            }
            if let Some(failure) = failure(&line) {
                return Some(failure);
            }
        }
    }

    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                return Some(line);
            }
            if self.buffer.len() > MAX_BUFFERED || self.stream.read_buf(&mut self.buffer).await.ok()? == 0 {
                return None;
            }
        }
    }
}

/// Parses the harness's report of a failure.
fn failure(line: &[u8]) -> Option<ProgramOutcome> {
    let (kind, exception, message): (String, String, String) = serde_json::from_slice(line).ok()?;
    match kind.as_str() {
        "memory" => Some(ProgramOutcome::Memory),
        "assertion" => Some(ProgramOutcome::Failed { exception, message, assertion: true }),
        "raised" => Some(ProgramOutcome::Failed { exception, message, assertion: false }),
        _ => None,
    }
}

/// 128 random bits in hexadecimal.
pub(crate) fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
