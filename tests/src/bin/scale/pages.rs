//! Open pages of a job: each is a connection on which the master sends what changes.

use compass_tests::{Job, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Pages that are read as fast as they come.
pub(crate) struct Pages {
    readers: Vec<JoinHandle<()>>,
    events: Arc<AtomicU64>,
}

impl Pages {
    /// Opens `count` pages of the only job of the master whose lines are in `log`.
    pub(crate) fn open(job: &Job, log: &str, count: usize) -> std::io::Result<Self> {
        let address = wait_until("the master says where it is shown", || {
            let text = job.log(log);
            let line = text.lines().find_map(|line| line.split_once("the run is shown at http://"))?;
            Some(line.1.trim_end_matches('/').to_owned())
        });
        let path = wait_until("the job has a page", || {
            let page = get(&address, "/").ok()?;
            let (_, after) = page.split_once("href=\"/jobs/")?;
            Some(format!("/jobs/{}/events", after.split('"').next()?))
        });
        let events = Arc::new(AtomicU64::new(0));
        let mut readers = Vec::with_capacity(count);
        for _ in 0..count {
            let mut stream = TcpStream::connect(&address)?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            let events = Arc::clone(&events);
            readers.push(std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    events.fetch_add(u64::from(line.starts_with("data: ")), Ordering::Relaxed);
                }
            }));
        }
        Ok(Self { readers, events })
    }

    /// Waits until the master closes them; returns the number of events that were read.
    pub(crate) fn closed(self) -> u64 {
        for reader in self.readers {
            // A reader that panicked has read what it has read.
            let _ = reader.join();
        }
        self.events.load(Ordering::Relaxed)
    }
}

fn get(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
