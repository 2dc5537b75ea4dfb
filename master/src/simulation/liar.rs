//! Workers that claim what is not theirs, and what becomes of one that is barred.

use super::plan;
use super::world::World;
use compass_common::ids::GrantId;
use compass_proto::v1;
use v1::worker_frame::Body;

/// A worker that no worker of the history is, as far as its results show.
const FORGER: u64 = 99;

impl World {
    /// Hands in results of what others hold, under their grants and under its own, and claims a whole unit from now on.
    pub(super) fn lies(&mut self, at: usize) {
        if !self.workers[at].alive || self.workers[at].paused_until > self.now {
            return;
        }
        let others = self.workers.iter().enumerate().filter(|(other, _)| *other != at);
        let foreign = others.flat_map(|(_, worker)| &worker.held).max_by_key(|held| held.waiting.len()).cloned();
        let own = self.workers[at].held.first().map(|held| held.key);
        let epoch = self.workers[at].epoch;
        let (unit, samples) = match &foreign {
            Some(held) => (held.unit, held.samples.iter().collect::<Vec<_>>()),
            None => (0, (0..self.scenario.units[0]).collect()),
        };
        let of_another = foreign.as_ref().map_or(GrantId::new(epoch, 0, 1), |held| held.key);
        for grant in [Some(of_another), own].into_iter().flatten() {
            // What it was granted once it may falsify.
            let never = |index: &&u32| !self.oracle.ever_had(&self.workers[at].name, unit, **index);
            let forged = samples.iter().rev().filter(never).take(8);
            let forged = forged.map(|&index| plan::result(&self.scenario, (unit, index), FORGER));
            let results = v1::Results {
                grant: Some(grant.into()),
                unit,
                plan: plan::digest().0.to_vec(),
                samples: forged.collect(),
                ..Default::default()
            };
            self.workers[at].push(Body::Results(results));
        }
        let whole = vec![v1::Interval { first: 0, end: self.scenario.units[unit as usize] }];
        // A grant of its own making, and another's with that one's own proof.
        let claim =
            v1::HeldGrant { id: Some(GrantId::new(epoch, 0, 77).into()), unit, samples: whole, ..Default::default() };
        let stolen = foreign.map(|held| v1::HeldGrant {
            id: Some(held.key.into()),
            unit: held.unit,
            samples: compass_proto::intervals_to_wire(&held.samples),
            proof: held.assigned.1,
            granted: compass_proto::intervals_to_wire(&held.assigned.0),
        });
        self.workers[at].claims = std::iter::once(claim).chain(stolen).collect();
        self.oracle.saw("a worker lied");
        self.worker_works(at);
        self.redial(at);
    }

    /// The worker hears that it is barred, and ends for good.
    pub(super) fn is_barred(&mut self, at: usize) {
        self.oracle.saw("a worker was barred");
        let worker = &mut self.workers[at];
        worker.alive = false;
        if let Some(link) = worker.link() {
            self.sever(link, 20);
        }
    }
}
