//! The way of a worker to another job and back, as the agent goes it: what it has not begun is handed back, the rest is
//! finished, and it leaves when all of it is acknowledged. Whom it goes to is not here: the broker has histories of its own.

use super::world::World;
use crate::core::Event;
use compass_common::ids::WorkerId;
use compass_common::intervals::IntervalSet;
use compass_proto::{intervals_to_wire, v1};
use v1::worker_frame::Body;

impl World {
    /// Another job of the server's is to have the worker for a while: whoever leads lets it go.
    pub(super) fn wanted_elsewhere(&mut self, at: usize, away: u64) {
        self.workers[at].away = away;
        let now = self.now;
        let leads = |number: &usize| {
            let master = &self.masters[*number];
            master.up && master.is_leading() && master.paused_until <= now
        };
        let leader = (0..self.masters.len()).find(leads);
        if let Some(leader) = leader.filter(|&leader| self.leads_on(leader)) {
            let worker = WorkerId(self.workers[at].name.clone());
            self.leader_decides(leader, Event::Release { worker });
        }
    }

    /// The worker hears that it is to leave.
    pub(super) fn released(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if worker.leaving.is_some() || worker.draining {
            return;
        }
        worker.leaving = Some(worker.away);
        let (mut acks, mut any) = (Vec::new(), false);
        for held in &mut worker.held {
            let returned = std::mem::replace(&mut held.waiting, IntervalSet::new());
            if returned.is_empty() {
                continue;
            }
            any = true;
            held.samples = held.samples.minus(&returned);
            let grant = Some(held.key.into());
            let (returned, held) = (intervals_to_wire(&returned), !held.samples.is_empty());
            acks.push(v1::RevokeAck { grant, returned, held });
        }
        worker.held.retain(|held| !held.samples.is_empty());
        for ack in acks {
            worker.push(Body::RevokeAck(ack));
        }
        self.oracle.saw(if any {
            "a worker that was to leave handed back what it had not begun"
        } else {
            "a worker that was to leave had begun all that it held"
        });
        self.say(at, 0, Body::Credit(v1::Credit { grants: 0 }));
    }

    /// It has handed in everything, and goes.
    pub(super) fn leave(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let Some(away) = worker.leaving.take() else { return };
        self.oracle.saw("a worker left for another job");
        self.hang_up(at, away);
    }
}
