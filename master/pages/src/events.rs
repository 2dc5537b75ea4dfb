//! Changes, sent to a page as they happen: the parts that differ, once a second at most. A slow reader misses states in
//! between; none is kept for it.

use super::pages::{Part, changed};
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// After how long a page comes back whose connection has ended.
const RETRY: Duration = Duration::from_millis(300);

/// Sends the parts of a page as they change, until the reader is gone or `parts` gives none.
pub(super) fn of(parts: impl Fn() -> Option<Vec<Part>> + Send + 'static) -> impl IntoResponse {
    let (sender, receiver) = mpsc::channel::<Result<Event, Infallible>>(1);
    tokio::spawn(async move {
        let mut before = Vec::new();
        let mut looks = tokio::time::interval(EVERY);
        loop {
            looks.tick().await;
            let Some(parts) = parts() else { return };
            let event = match changed(&parts, &mut before) {
                Some(changed) => Event::default().event("state").data(changed).retry(RETRY),
                // The reader learns that the master runs.
                None => Event::default().event("alive").data(""),
            };
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
    });
    Sse::new(ReceiverStream::new(receiver))
}
