//! Puts objects into a real object store.

use crate::server::Request;
use crate::signature::{hex, signature};
use ring::digest;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

/// A client that may write.
pub struct Uploader {
    /// `host:port`.
    pub address: String,
    pub access: String,
    pub secret: String,
}

impl Uploader {
    /// Makes a bucket, where `key` is empty, or puts an object.
    ///
    /// # Errors
    /// The store cannot be reached, or answers something but success.
    pub fn put(&self, bucket: &str, key: &str, content: &[u8]) -> io::Result<()> {
        let path = if key.is_empty() { format!("/{bucket}") } else { format!("/{bucket}/{key}") };
        let time = time(std::time::SystemTime::now());
        let date = time.get(..8).unwrap_or_default();
        let sum = hex(digest::digest(&digest::SHA256, content).as_ref());
        let headers = [("host", self.address.as_str()), ("x-amz-content-sha256", &sum), ("x-amz-date", &time)];
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = Request {
            method: "PUT".into(),
            path: path.clone(),
            query: String::new(),
            headers: headers.clone(),
            body: Vec::new(),
        };
        let names = "host;x-amz-content-sha256;x-amz-date";
        let signed = signature(&request, &self.secret, &time, [date, "us-east-1", "s3"], names);
        let credential = format!("{}/{date}/us-east-1/s3/aws4_request", self.access);
        let mut head = format!("PUT {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", content.len());
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str(&format!(
            "authorization: AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signed}\r\n\r\n"
        ));
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(content)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let is_done = answer.split(' ').nth(1) == Some("200");
        if is_done { Ok(()) } else { Err(io::Error::other(answer)) }
    }
}

/// `20240102T030405Z`. Days since 1970 become a date as in Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn time(now: std::time::SystemTime) -> String {
    let seconds = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_those_of_a_calendar() {
        assert_eq!(time(UNIX_EPOCH), "19700101T000000Z");
        assert_eq!(time(UNIX_EPOCH + Duration::from_secs(1_709_210_096)), "20240229T123456Z");
    }
}
