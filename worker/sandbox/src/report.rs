//! The private channel to the harness: the order goes out, lines that begin with the nonce come back. Anything else is the
//! program's noise and says nothing.

use crate::verdict::Verdict;
use std::fs::File;
use std::io::{self, Read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// More than the harness ever says; a program that writes more than this on the channel is not listened to any longer.
const LONGEST: usize = 64 * 1024;

pub(crate) struct Channel {
    stream: UnixStream,
    nonce: String,
    heard: Vec<u8>,
}

impl Channel {
    pub(crate) fn new(stream: std::os::unix::net::UnixStream, nonce: String) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, nonce, heard: Vec::new() })
    }

    /// Hands the order over and waits until the harness is about to run the program. False when the harness went away.
    pub(crate) async fn begin(&mut self, order: &str) -> bool {
        let delivered = async {
            self.stream.write_all(order.as_bytes()).await?;
            self.stream.shutdown().await
        };
        delivered.await.is_ok() && self.line().await.is_some_and(|line| line == "ready")
    }

    /// What the harness says of the program; `None` when the channel closes without it. Loses nothing when dropped.
    pub(crate) async fn verdict(&mut self) -> Option<Verdict> {
        parse(&self.line().await?)
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                let text = String::from_utf8_lossy(&line);
                if let Some(said) = text.strip_prefix(self.nonce.as_str()) {
                    return Some(said.trim().to_owned());
                }
            }
            if self.heard.len() > LONGEST || self.stream.read_buf(&mut self.heard).await.ok()? == 0 {
                return None;
            }
        }
    }
}

fn parse(line: &str) -> Option<Verdict> {
    let (kind, exception, message): (String, String, String) = serde_json::from_str(line).ok()?;
    Some(match kind.as_str() {
        "passed" => Verdict::Passed,
        "memory" => Verdict::Memory,
        "assertion" => Verdict::Failed { exception, message, assertion: true },
        _ => Verdict::Failed { exception, message, assertion: false },
    })
}

/// 128 random bits in hexadecimal.
pub(crate) fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
