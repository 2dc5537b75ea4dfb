//! The durability barrier: messages to workers wait here, in order, until the records that justify them are durable.

use compass_scheduler::{ConnectionId, Message, Seq};
use compass_types::ids::WorkerId;
use std::collections::VecDeque;
use std::sync::Arc;

/// A message or acknowledgement that waits.
#[derive(Debug)]
pub(super) enum HeldBack {
    /// A message to the process `nonce` of a worker.
    Send { worker: WorkerId, nonce: Arc<str>, message: Message },
    /// The worker's frames up to `seq` have been handled.
    Acknowledge { worker: WorkerId, nonce: Arc<str>, seq: u64 },
}

/// Messages that wait until the records that justify them are durable, in order.
#[derive(Debug, Default)]
pub(super) struct DurabilityBarrier {
    waiting: VecDeque<(Seq, HeldBack)>,
    durable: Seq,
}

impl DurabilityBarrier {
    /// Takes something that may leave once everything up to `after` is durable.
    pub(super) fn push(&mut self, after: Seq, held: HeldBack) {
        self.waiting.push_back((after, held));
    }

    /// Everything up to `durable` is.
    pub(super) fn raise(&mut self, durable: Seq) {
        self.durable = self.durable.max(durable);
    }

    /// The next thing that may leave. Numbers in the queue ascend, so the front decides.
    pub(super) fn next(&mut self) -> Option<HeldBack> {
        let (_, held) = self.waiting.pop_front_if(|(after, _)| *after <= self.durable)?;
        Some(held)
    }

    /// Returns whether everything up to `seq` is durable and nothing waits.
    pub(super) fn is_settled(&self, seq: Seq) -> bool {
        self.waiting.is_empty() && self.durable >= seq
    }
}

/// The connection that a message is for, if it is void on any other.
pub(super) fn bound_to(message: &Message) -> Option<ConnectionId> {
    match message {
        Message::Welcome { connection, .. } => Some(*connection),
        _ => None,
    }
}
