//! A body that ends with an error when nothing of it comes for a while, or more than was asked for.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use object_store::client::{HttpError, HttpErrorKind};
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Longest time that an answer, or the next piece of it, may take.
pub(super) const STALL: Duration = Duration::from_secs(60);

pub(super) struct Watched {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
    /// Bytes at most, and how many of them may still come.
    most: u64,
    left: u64,
}

impl Watched {
    pub(super) fn new(body: Incoming, most: u64) -> Self {
        Self { body, deadline: Box::pin(sleep(STALL)), most, left: most }
    }

    /// Counts a piece.
    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, HttpError> {
        let came = frame.data_ref().map_or(0, |data| data.len() as u64);
        match self.left.checked_sub(came) {
            Some(left) => {
                self.left = left;
                Ok(frame)
            }
            None => {
                let long = std::io::Error::other(format!("the answer is longer than {} bytes", self.most));
                Err(HttpError::new(HttpErrorKind::Decode, long))
            }
        }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.deadline.as_mut().reset(Instant::now() + STALL);
            return Poll::Ready(frame.map(|frame| match frame {
                Ok(frame) => self.count(frame),
                Err(error) => {
                    Err(HttpError::new(HttpErrorKind::Interrupted, std::io::Error::other(super::chain(&error))))
                }
            }));
        }
        ready!(self.deadline.as_mut().poll(cx));
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, format!("nothing came for {} s", STALL.as_secs()));
        Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Timeout, late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
