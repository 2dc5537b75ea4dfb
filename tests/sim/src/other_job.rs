//! Another job of the same server: a worker that this one lets go is welcomed there, finds nothing to do, and comes back.

use super::world::{Happening, World};
use compass_common::ids::{Digest, WorkerId};
use compass_common::plan::{PLAN_FORMAT, Plan};
use compass_master::core::Event;
use compass_proto::{PROTOCOL_VERSION, v1};
use v1::master_frame::Body;
use v1::worker_frame::Body as Said;

/// The head of the other job's plan.
pub(super) fn head() -> Vec<u8> {
    let config = Digest::of(b"another configuration");
    let plan = Plan { format: PLAN_FORMAT, config, models: Vec::new(), datasets: Vec::new(), duplicates: None };
    // Plain data always serialises.
    serde_json::to_vec(&plan).unwrap_or_default()
}

impl World {
    /// Another job of the server's is to have the worker for a while: whoever leads lets it go.
    pub(super) fn wanted_elsewhere(&mut self, at: usize, away: u64) {
        let now = self.now;
        let leads = |number: &usize| {
            let master = &self.masters[*number];
            master.up && master.is_leading() && master.paused_until <= now
        };
        let leader = (0..self.masters.len()).find(leads);
        if let Some(leader) = leader {
            self.workers[at].away = away;
            let worker = WorkerId(self.workers[at].name.clone());
            self.leader_decides(leader, Event::Release { worker });
        }
    }

    /// Whether a worker that dials is for the other job: it was told to leave, and has brought home all that it held.
    pub(super) fn is_for_the_other_job(&self, at: usize, hello: &v1::Hello) -> bool {
        self.workers[at].leaving && hello.held.is_empty()
    }

    /// The other job takes a worker in.
    pub(super) fn other_job_welcomes(&mut self, link: usize) {
        let at = self.links.all[link].worker;
        self.links.all[link].elsewhere = true;
        self.workers[at].leaving = false;
        let away = std::mem::take(&mut self.workers[at].away).max(1);
        self.oracle.saw("a worker left for another job");
        let welcome = v1::Welcome {
            epoch: 1,
            plan: Digest::of(&head()).0.to_vec(),
            lease_ttl_ms: super::master::WORKER_LEASE_MS as u32,
            heartbeat_ms: super::master::HEARTBEAT_MS as u32,
            protocol: PROTOCOL_VERSION,
            ..Default::default()
        };
        self.other_job_says(link, 0, Body::Welcome(welcome));
        self.after(away, Happening::OtherJobReleases { link });
    }

    fn other_job_says(&mut self, link: usize, seq: u64, body: Body) {
        let arrives = self.links.down(self.now, link, &mut self.rng);
        self.at(arrives, Happening::Down { link, frame: v1::MasterFrame { seq, ack: 0, body: Some(body) } });
    }

    pub(super) fn other_job_hears(&mut self, link: usize, frame: &v1::WorkerFrame) {
        if let Some(Said::Heartbeat(beat)) = &frame.body {
            let ack = v1::HeartbeatAck { sent_ms: beat.sent_ms };
            self.other_job_says(link, 0, Body::HeartbeatAck(ack));
        }
    }

    pub(super) fn other_job_releases(&mut self, link: usize) {
        if !self.links.all[link].broken {
            self.other_job_says(link, 1, Body::Release(v1::Release {}));
        }
    }
}
