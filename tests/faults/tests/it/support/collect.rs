//! Frames of a worker over one or more sessions, each counted once.

use super::master::Session;
use compass_proto::v1;
use std::collections::{BTreeMap, BTreeSet};
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// Frames of a worker over one or more sessions, each counted once.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    seen: BTreeSet<u64>,
    /// Number of replayed frames.
    pub(crate) replayed: u32,
    pub(crate) last_seq: u64,
    /// Number of frames, repeated ones included.
    frames: u64,
    /// Last frame of the master's that the worker has acknowledged.
    heard: u64,
    /// Outcomes by sample, in order of arrival.
    pub(crate) outcomes: BTreeMap<u32, Vec<Outcome>>,
    pub(crate) reports: Vec<v1::ShardReport>,
    pub(crate) failures: Vec<v1::Failed>,
    pub(crate) revoke_acks: Vec<(u32, u32)>,
    /// Acknowledgements that return samples.
    pub(crate) returned: Vec<v1::RevokeAck>,
    pub(crate) facts: Vec<v1::Facts>,
    pub(crate) credits: Vec<u32>,
    pub(crate) draining: bool,
    pub(crate) rejected: Vec<v1::Rejected>,
    /// Number of frames whose body was dropped.
    pub(crate) emptied: u32,
}

impl Collected {
    /// Receives frames and answers heartbeats until `done`. With `acknowledge`, everything is acknowledged at once.
    pub(crate) async fn until(&mut self, session: &mut Session, acknowledge: bool, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let frame = session.frame().await.expect("the stream ended too early");
            let seq = frame.seq;
            self.frames += 1;
            self.heard = self.heard.max(frame.ack);
            if let Some(Body::Heartbeat(heartbeat)) = frame.body {
                let body = v1::master_frame::Body::HeartbeatAck(v1::HeartbeatAck { sent_ms: heartbeat.sent_ms });
                session.send_unsequenced(0, Some(body)).await;
                continue;
            }
            if seq != 0 && !self.seen.insert(seq) {
                self.replayed += 1;
            } else {
                self.take_any(frame.body);
            }
            if seq != 0 {
                self.last_seq = self.last_seq.max(seq);
                if acknowledge {
                    session.send_unsequenced(seq, None).await;
                }
            }
        }
    }

    /// Receives frames until the worker has received all that the session has sent.
    pub(crate) async fn until_heard(&mut self, session: &mut Session) {
        let last = session.last_sent();
        self.heard = 0;
        self.until(session, true, |collected| collected.heard >= last).await;
    }

    /// Receives one frame more: a worker sends none before it has received the welcome.
    pub(crate) async fn until_welcomed(&mut self, session: &mut Session, acknowledge: bool) {
        let frames = self.frames;
        self.until(session, acknowledge, |collected| collected.frames > frames).await;
    }

    /// Receives frames until the stream ends.
    pub(crate) async fn until_closed(&mut self, session: &mut Session) {
        while let Some(frame) = session.frame().await {
            if frame.seq != 0 && self.seen.insert(frame.seq) {
                self.take_any(frame.body);
                session.send_unsequenced(frame.seq, None).await;
            }
        }
    }

    /// Number of samples with an outcome.
    pub(crate) fn samples(&self) -> usize {
        self.outcomes.len()
    }

    /// Asserts one outcome each for `0..count`: the echo engine's answers except for `failed`.
    pub(crate) fn assert_answers(&self, plan: &super::TestPlan, count: u32, failed: &[u32]) {
        assert_eq!(self.outcomes.keys().copied().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
        for (index, outcomes) in &self.outcomes {
            assert_eq!(outcomes.len(), 1, "sample {index} arrived more than once: {outcomes:?}");
            match &outcomes[0] {
                Outcome::Generation(generation) => assert_eq!(generation.text, plan.answer(*index)),
                Outcome::Failed(reason) => assert!(failed.contains(index), "sample {index} failed: {reason}"),
                other => panic!("{other:?}"),
            }
        }
    }

    fn take_any(&mut self, body: Option<Body>) {
        match body {
            Some(body) => self.take(body),
            None => self.emptied += 1,
        }
    }

    fn take(&mut self, body: Body) {
        match body {
            Body::Results(results) => {
                for result in results.samples {
                    self.outcomes.entry(result.index).or_default().push(result.outcome.unwrap());
                }
            }
            Body::Report(report) => self.reports.push(report),
            Body::Failed(failed) => self.failures.push(failed),
            Body::RevokeAck(ack) if !ack.returned.is_empty() => self.returned.push(ack),
            Body::RevokeAck(ack) => self.revoke_acks.push(ack.grant.map(|grant| (grant.task, grant.attempt)).unwrap()),
            Body::Facts(facts) => self.facts.push(facts),
            Body::Credit(credit) => self.credits.push(credit.grants),
            Body::Draining(_) => self.draining = true,
            Body::Rejected(rejected) => self.rejected.push(rejected),
            Body::Hello(_) | Body::Heartbeat(_) | Body::Spilled(_) => panic!("not here"),
        }
    }
}
