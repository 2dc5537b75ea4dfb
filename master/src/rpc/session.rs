//! One worker's session: sequence numbers, acknowledgements, replay. Survives its connections.

use crate::core::{ConnectionId, Message};
use compass_common::ids::{Digest, Epoch};
use compass_proto::{intervals_to_wire, v1};
use std::collections::VecDeque;
use tokio::sync::mpsc;
use tonic::Status;
use v1::master_frame::Body;

/// What every message needs to know of the run.
#[derive(Clone, Debug)]
pub struct Terms {
    pub plan: Digest,
    pub epoch: Epoch,
    pub lease_ttl_ms: u32,
    pub heartbeat_ms: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    /// The agent process behind it.
    pub nonce: String,
    connection: Option<(ConnectionId, mpsc::Sender<Result<v1::MasterFrame, Status>>)>,
    last_seq: u64,
    unacknowledged: VecDeque<v1::MasterFrame>,
    /// Highest frame of the worker's that was applied.
    handled: u64,
    /// Highest frame of the worker's whose consequences are durable: what it is told.
    durable: u64,
}

impl Session {
    /// A session without a connection yet.
    pub fn new(nonce: String) -> Self {
        Self { nonce, connection: None, last_seq: 0, unacknowledged: VecDeque::new(), handled: 0, durable: 0 }
    }

    /// A connection takes over; frames up to `last_ack` need no replay.
    pub fn connect(
        &mut self,
        id: ConnectionId,
        outbound: mpsc::Sender<Result<v1::MasterFrame, Status>>,
        last_ack: u64,
    ) {
        self.connection = Some((id, outbound));
        self.acknowledged(last_ack);
    }

    /// The connection is down, if it is still the current one.
    pub fn disconnect(&mut self, id: ConnectionId) {
        if self.is_current(id) {
            self.connection = None;
        }
    }

    /// Whether a connection is up.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Whether `id` is the connection in use.
    pub fn is_current(&self, id: ConnectionId) -> bool {
        self.connection.as_ref().is_some_and(|(current, _)| *current == id)
    }

    /// Whether a frame is new; duplicates after a replay are not. Unsequenced frames (0) always are.
    pub fn is_new(&self, seq: u64) -> bool {
        seq == 0 || seq > self.handled
    }

    /// The frame was applied.
    pub fn handled(&mut self, seq: u64) {
        self.handled = self.handled.max(seq);
    }

    /// The worker has handled our frames up to `ack`.
    pub fn acknowledged(&mut self, ack: u64) {
        while self.unacknowledged.front().is_some_and(|frame| frame.seq <= ack) {
            self.unacknowledged.pop_front();
        }
    }

    /// The consequences of the worker's frames up to `seq` are durable: tell it.
    pub fn acknowledge(&mut self, seq: u64) {
        if seq > self.durable {
            self.durable = seq;
            self.transmit(v1::MasterFrame { seq: 0, ack: self.durable, body: None });
        }
    }

    /// Echoes a heartbeat.
    pub fn heartbeat(&mut self, sent_ms: u64) {
        let body = Some(Body::HeartbeatAck(v1::HeartbeatAck { sent_ms }));
        self.transmit(v1::MasterFrame { seq: 0, ack: self.durable, body });
    }

    /// Sends a message; kept for replay until acknowledged, but for those that open or refuse a session.
    pub fn send(&mut self, message: &Message, terms: &Terms) {
        match message {
            Message::Welcome { max_slots } => {
                let welcome = v1::Welcome {
                    epoch: terms.epoch.0,
                    plan: terms.plan.0.to_vec(),
                    lease_ttl_ms: terms.lease_ttl_ms,
                    heartbeat_ms: terms.heartbeat_ms,
                    last_ack: self.durable,
                    max_slots: *max_slots,
                };
                self.transmit(v1::MasterFrame { seq: 0, ack: self.durable, body: Some(Body::Welcome(welcome)) });
                for frame in self.unacknowledged.clone() {
                    self.transmit(frame);
                }
            }
            Message::Refused { reason } => {
                let body = Some(Body::Refused(v1::Refused { reason: reason.clone() }));
                self.transmit(v1::MasterFrame { seq: 0, ack: self.durable, body });
                self.connection = None;
            }
            message => {
                self.last_seq += 1;
                let frame = v1::MasterFrame { seq: self.last_seq, ack: self.durable, body: body_of(message, terms) };
                self.unacknowledged.push_back(frame.clone());
                self.transmit(frame);
            }
        }
    }

    /// Hands a frame to the connection. One that is too slow to take it is cut off: the worker reconnects and replays.
    fn transmit(&mut self, frame: v1::MasterFrame) {
        if let Some((_, outbound)) = &self.connection
            && outbound.try_send(Ok(frame)).is_err()
        {
            self.connection = None;
        }
    }
}

fn body_of(message: &Message, terms: &Terms) -> Option<Body> {
    Some(match message {
        Message::Grant { grant, unit, samples } => Body::Grant(v1::Grant {
            epoch: grant.epoch.0,
            task: grant.task.0,
            attempt: grant.attempt.0,
            unit: unit.0,
            samples: intervals_to_wire(samples),
            plan: terms.plan.0.to_vec(),
        }),
        Message::Commit { unit, samples } => {
            Body::Commit(v1::Commit { unit: unit.0, samples: intervals_to_wire(samples) })
        }
        Message::Revoke { task, attempt, reason } => {
            Body::Revoke(v1::Revoke { task: task.0, attempt: attempt.0, reason: (*reason).to_owned() })
        }
        Message::Shutdown { reason } => Body::Shutdown(v1::Shutdown { reason: (*reason).to_owned() }),
        Message::Welcome { .. } | Message::Refused { .. } => return None,
    })
}
