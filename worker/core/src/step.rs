//! One step of the core: what has happened goes in, what is to be done comes out, and nothing else is read or written.

use super::ending::Ending;
use super::input::{Input, News};
use super::output::Output;
use super::session::AgentCore;
use std::time::Duration;

/// How often the clock is looked at when nothing else happens.
const TICK_MS: u64 = 500;

impl AgentCore {
    /// Dials for the first time.
    pub fn start(&mut self, out: &mut Vec<Output>) {
        self.dial(Duration::ZERO);
        out.append(&mut self.outputs);
    }

    /// Takes what has happened at `now_ms`; what is to be done for it is appended to `out`, to be done in this order.
    pub fn step(&mut self, now_ms: u64, input: Input, out: &mut Vec<Output>) {
        self.now_ms = now_ms;
        match input {
            Input::Tick => {}
            Input::Link { link, .. } if link != self.link => {}
            Input::Link { news, .. } => self.news(news),
            Input::Slot(report) => self.slot_report(report),
            Input::Fetched { digest, content } => self.fetched(digest, content),
            Input::Uploaded { link, seq, done } => self.uploaded(link, seq, done),
            Input::Signal(number) if self.drain.is_some() => self.ending = Some(Ending::Signal(number)),
            Input::Signal(number) => self.start_drain(Ending::Signal(number), "a signal"),
            Input::TimeIsUp => self.start_drain(Ending::TimeIsUp, "the time of this job is nearly up"),
            Input::ParentGone => self.ending = Some(Ending::ParentGone),
        }
        self.send_due_results(now_ms);
        self.check_silence(now_ms);
        self.check_drained(now_ms);
        self.check_released();
        self.beat(now_ms);
        self.dispatch(now_ms);
        self.wants_to_send = self.is_ready_to_send();
        out.append(&mut self.outputs);
    }

    fn news(&mut self, news: News) {
        match news {
            News::Opened { hello_sent_ms } => self.opened(hello_sent_ms),
            News::Frame(frame) => {
                self.note_heard();
                self.master_frame(*frame);
            }
            News::Fetching => self.note_heard(),
            News::Writable => self.writable(),
            News::Stuck => self.stuck(),
            News::Closed { why } => self.closed(why),
        }
    }

    /// Whether a frame waits until the connection has room.
    pub fn wants_to_send(&self) -> bool {
        self.wants_to_send
    }

    /// How the agent ends, once it does.
    pub fn take_ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }

    /// When the next step is due though nothing happens.
    pub fn wake_at_ms(&self) -> u64 {
        let batch_due = self.result_batches.next_due_ms().unwrap_or(u64::MAX);
        // A heartbeat that is due but not welcome yet must not spin the loop.
        let beat_due = if self.next_heartbeat_ms > self.now_ms { self.next_heartbeat_ms } else { u64::MAX };
        batch_due.min(beat_due).min(self.now_ms + TICK_MS)
    }
}
