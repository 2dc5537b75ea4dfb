//! The private channel to the harness: the order and the token go out, lines come back. Who knows the token has run the
//! program to its end; every other line is a failure, which needs no proof, or the program's noise.

use crate::outcome::ProgramOutcome;
use std::fs::File;
use std::io::{self, Read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// More than the harness ever says; a program that writes more than this on the channel is not listened to any longer.
const LONGEST: usize = 64 * 1024;

pub(crate) struct Channel {
    stream: UnixStream,
    token: String,
    heard: Vec<u8>,
}

impl Channel {
    pub(crate) fn new(stream: std::os::unix::net::UnixStream, token: String) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, token, heard: Vec::new() })
    }

    /// Hands the order over, waits until the harness is about to run the program, and lets it begin. False when the harness
    /// went away.
    pub(crate) async fn begin(&mut self, order: &str) -> bool {
        let begun = async {
            self.stream.write_all(order.as_bytes()).await?;
            self.stream.write_all(b"\n").await?;
            while self.line().await.ok_or(io::ErrorKind::UnexpectedEof)? != b"ready" {}
            self.stream.write_all(self.token.as_bytes()).await?;
            self.stream.shutdown().await
        };
        begun.await.is_ok()
    }

    /// What the harness says of the program; `None` when the channel closes without it. Loses nothing when dropped.
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
            if let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.heard.drain(..=end).collect();
                line.pop();
                return Some(line);
            }
            if self.heard.len() > LONGEST || self.stream.read_buf(&mut self.heard).await.ok()? == 0 {
                return None;
            }
        }
    }
}

/// How the program did not pass, as the harness puts it.
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
