//! One step of the core: takes an input and returns outputs, without side effects.

use super::ending::ExitReason;
use super::input::{ConnectionEvent, Input};
use super::output::Output;
use super::session::AgentCore;
use std::time::Duration;

/// Interval at which the time is checked when nothing else happens.
const TICK_MS: u64 = 500;

impl AgentCore {
    /// Connects for the first time.
    pub fn start(&mut self, out: &mut Vec<Output>) {
        self.dial(Duration::ZERO);
        out.append(&mut self.outputs);
    }

    /// Handles an input at `now_ms` and appends its outputs to `out`, to be carried out in order.
    pub fn step(&mut self, now_ms: u64, input: Input, out: &mut Vec<Output>) {
        self.now_ms = now_ms;
        match input {
            Input::Tick => {}
            Input::Link { link, .. } if link != self.link => {}
            Input::Link { news, .. } => self.news(news),
            Input::Slot(report) => self.slot_report(report),
            Input::Fetched { digest, content } => self.fetched(digest, content),
            Input::Uploaded { link, seq, done } => self.uploaded(link, seq, done),
            Input::Signal(number) => self.signal(number),
            Input::TimeIsUp => self.start_drain(ExitReason::TimeIsUp, "the time of this job is nearly over"),
            Input::ParentGone => self.ending = Some(ExitReason::ParentGone),
        }
        self.send_due_results(now_ms);
        self.check_silence(now_ms);
        self.check_drained(now_ms);
        self.check_released();
        self.beat(now_ms);
        self.dispatch(now_ms);
        self.give_back_unbegun(now_ms);
        self.wants_to_send = self.is_ready_to_send();
        out.append(&mut self.outputs);
    }

    fn news(&mut self, news: ConnectionEvent) {
        match news {
            ConnectionEvent::Opened { hello_sent_ms } => self.opened(hello_sent_ms),
            ConnectionEvent::Frame(frame) => {
                self.note_received();
                self.master_frame(*frame);
            }
            ConnectionEvent::Fetching => self.note_received(),
            ConnectionEvent::Writable => self.writable(),
            ConnectionEvent::Stuck => self.stuck(),
            ConnectionEvent::Closed { why } => self.closed(why),
        }
    }

    /// Returns whether a frame waits for the connection.
    pub fn wants_to_send(&self) -> bool {
        self.wants_to_send
    }

    /// Returns the exit reason once the agent has ended.
    pub fn take_ending(&mut self) -> Option<ExitReason> {
        self.ending.take()
    }

    /// Returns when the next step is due without an input.
    pub fn wake_at_ms(&self) -> u64 {
        let batch_due = self.result_batches.next_due_ms().unwrap_or(u64::MAX);
        // A due heartbeat without a welcome must not spin the loop.
        let beat_due = if self.next_heartbeat_ms > self.now_ms { self.next_heartbeat_ms } else { u64::MAX };
        batch_due.min(beat_due).min(self.now_ms + TICK_MS)
    }
}
