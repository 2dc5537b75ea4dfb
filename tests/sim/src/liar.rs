//! Workers that claim what is not theirs.

use super::job::SampleKey;
use super::world::{Happening, Up, World};
use compass_proto::{intervals_to_wire, v1};
use compass_types::ids::GrantId;
use v1::worker_frame::Body;

/// A worker that no worker of the history is, as far as its results show.
const FORGER: u64 = 99;
/// Results that are forged at a time.
const FORGED: usize = 8;

impl World {
    /// Hands in results of what others hold, under their grants and under its own, and claims a whole unit from now on.
    pub(super) fn lies(&mut self, at: usize) {
        let liar = &self.workers[at];
        let Some(link) = liar.link.filter(|_| liar.alive && liar.paused_until <= self.now) else { return };
        let of = self.links.all[link].job.unwrap_or_default();
        let job = self.jobs[of].clone();
        let name = liar.name.clone();
        let others = self.workers.iter().enumerate().filter(|(other, _)| *other != at);
        let foreign = others.flat_map(|(_, worker)| &worker.granted).rfind(|((job, _), _)| *job == of);
        let foreign = foreign.map(|((_, grant), told)| (*grant, told.clone()));
        let own = liar.granted.keys().rfind(|(job, _)| *job == of).map(|(_, grant)| *grant);
        let epoch = own.map_or(self.latest_epoch(of), |grant| grant.epoch);
        let made_up = GrantId::new(epoch.0, 0, 1);
        let (unit, samples): (u32, Vec<SampleKey>) = match &foreign {
            Some((_, (unit, samples, _))) => (*unit, samples.iter().map(|index| (*unit, index)).collect()),
            None => (job.unit(0), (0..job.shape.units[0]).map(|index| (job.unit(0), index)).collect()),
        };
        for grant in [Some(foreign.as_ref().map_or(made_up, |(grant, _)| *grant)), own].into_iter().flatten() {
            // What it was granted once it may falsify.
            let never = samples.iter().rev().filter(|(unit, index)| !self.oracle.ever_had(&name, (of, *unit, *index)));
            let forged = never.take(FORGED).map(|&key| job.result(key, FORGER)).collect();
            let plan = job.digest.0.to_vec();
            let results = v1::Results { grant: Some(grant.into()), unit, plan, samples: forged, ..Default::default() };
            // Without a number: its agent knows nothing of it.
            let frame = v1::WorkerFrame { seq: 0, ack: 0, body: Some(Body::Results(results)) };
            for arrives in self.links.up(self.now, link, &mut self.rng).into_iter().take(1) {
                self.at(arrives, Happening::Up { link, what: Up::Frame(Box::new(frame.clone())) });
            }
        }
        let whole = job.units().into_iter().find(|(known, _)| *known == unit).map_or(0, |(_, samples)| samples);
        let whole = vec![v1::Interval { first: 0, end: whole }];
        // A grant of its own making, and another's with that one's own proof.
        let id = Some(GrantId::new(epoch.0, 0, 77).into());
        let claim = v1::HeldGrant { id, unit, samples: whole, ..Default::default() };
        let stolen = foreign.map(|(grant, (unit, samples, proof))| v1::HeldGrant {
            id: Some(grant.into()),
            unit,
            samples: intervals_to_wire(&samples),
            proof,
            granted: intervals_to_wire(&samples),
        });
        self.workers[at].claims = std::iter::once(claim).chain(stolen).collect();
        self.oracle.saw("a worker lied");
        // What was sent arrives first.
        self.after(60, Happening::Lost { link });
    }
}
