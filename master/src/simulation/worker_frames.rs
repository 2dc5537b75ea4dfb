//! What a worker makes of what its master says.

use super::master::WORKER_LEASE_MS;
use super::mutant::Mutant;
use super::worker::Held;
use super::world::World;
use compass_common::ids::GrantId;
use compass_common::intervals::IntervalSet;
use compass_proto::{intervals_from_wire, intervals_to_wire, v1};
use v1::master_frame::Body;
use v1::worker_frame::Body as Say;

/// The part of the lease in which samples are begun.
fn usable(lease: u64) -> u64 {
    lease * 4 / 5
}

impl World {
    pub(super) fn worker_hears(&mut self, at: usize, frame: v1::MasterFrame) {
        let now = self.now;
        let worker = &mut self.workers[at];
        worker.heard = now;
        let gone = worker.acknowledged(frame.ack);
        for (unit, index) in gone {
            self.oracle.is_believed(unit, index, "a worker forgets a result");
        }
        let worker = &mut self.workers[at];
        let Some(stream) = &mut worker.stream else { return };
        if frame.seq != 0 {
            if frame.seq <= stream.handled || !stream.welcomed {
                return;
            }
            stream.handled = frame.seq;
        }
        self.oracle.note(now, || format!("w{at} hears {:?}", frame.body));
        let worker = &mut self.workers[at];
        match frame.body {
            Some(Body::Welcome(welcome)) => self.welcome(at, &welcome),
            Some(Body::HeartbeatAck(ack)) => {
                let from = if self.mutant == Some(Mutant::DeadlineFromReceipt) { now } else { ack.sent_ms };
                worker.deadline = worker.deadline.max(from + usable(WORKER_LEASE_MS));
            }
            Some(Body::Grant(grant)) => {
                let key = GrantId::from(grant.id.unwrap_or_default());
                let (task, latest) = (key.task, (key.epoch, key.attempt));
                if worker.seen.get(&task).is_some_and(|&seen| seen >= latest) {
                    return;
                }
                worker.seen.insert(task, latest);
                for older in worker.held.iter_mut().filter(|held| held.key.task == task) {
                    (older.revoked, older.waiting) = (true, IntervalSet::new());
                }
                let samples = intervals_from_wire(&grant.samples);
                worker.held.push(Held {
                    assigned: (samples.clone(), grant.proof),
                    key,
                    unit: grant.unit,
                    waiting: samples.clone(),
                    samples,
                    running: IntervalSet::new(),
                    revoked: false,
                    begun: false,
                });
            }
            Some(Body::Revoke(revoke)) => self.revoke(at, &revoke),
            Some(Body::Release(_)) => self.released(at),
            Some(Body::Refused(refused)) if refused.reason.contains("barred") => self.is_barred(at),
            _ => {}
        }
    }

    fn welcome(&mut self, at: usize, welcome: &v1::Welcome) {
        let worker = &mut self.workers[at];
        if worker.epoch > welcome.epoch {
            self.oracle.saw("a worker left an older leader");
            self.redial(at);
            return;
        }
        let Some(stream) = &mut worker.stream else { return };
        stream.welcomed = true;
        let sent = if self.mutant == Some(Mutant::DeadlineFromReceipt) { self.now } else { stream.hello_sent };
        worker.deadline = worker.deadline.max(sent + usable(WORKER_LEASE_MS));
        worker.epoch = welcome.epoch;
        if welcome.max_slots > 0 {
            worker.active = welcome.max_slots;
        }
        worker.beat_at = 0;
        for held in &mut worker.held {
            let named = |kept: &&v1::KeptGrant| kept.held == Some(held.key.into());
            let Some(now) = welcome.kept.iter().find(named).and_then(|kept| kept.now.as_ref()) else {
                (held.revoked, held.waiting) = (true, IntervalSet::new());
                continue;
            };
            let lost = held.waiting.minus(&intervals_from_wire(&now.samples));
            held.waiting = held.waiting.minus(&lost);
            held.samples = held.samples.minus(&lost);
            held.revoked = false;
            let (before, key) = (held.key, GrantId::from(now.id.unwrap_or_default()));
            if before != key {
                held.assigned = (intervals_from_wire(&now.samples), now.proof.clone());
            }
            held.key = key;
            worker.seen.insert(key.task, (key.epoch, key.attempt));
            for pack in worker.packs.iter_mut().flatten().filter(|pack| pack.grant == before) {
                pack.grant = key;
            }
        }
        // Handed back since the hello: the master must not wait for it.
        for now in welcome.kept.iter().filter_map(|kept| kept.now.as_ref()) {
            if !worker.held.iter().any(|held| Some(held.key.into()) == now.id) {
                worker.push(Say::RevokeAck(v1::RevokeAck { grant: now.id, ..Default::default() }));
            }
        }
        let gone = worker.acknowledged(welcome.last_ack);
        for (unit, index) in gone {
            self.oracle.is_believed(unit, index, "a worker forgets a result");
        }
        let worker = &self.workers[at];
        let grants = if worker.leaving.is_some() { 0 } else { worker.active + 1 };
        self.say(at, 0, Say::Credit(v1::Credit { grants }));
    }

    fn revoke(&mut self, at: usize, revoke: &v1::Revoke) {
        let key = GrantId::from(revoke.grant.unwrap_or_default());
        let asked = intervals_from_wire(&revoke.samples);
        let worker = &mut self.workers[at];
        let mut returned = IntervalSet::new();
        if let Some(held) = worker.held.iter_mut().find(|held| held.key == key) {
            if asked.is_empty() {
                (held.revoked, held.waiting) = (true, IntervalSet::new());
                return;
            }
            let has_begun = held.waiting != held.samples;
            let kept = if revoke.only_unbegun && has_begun { held.waiting.clone() } else { held.waiting.minus(&asked) };
            returned = held.waiting.minus(&kept);
            held.waiting = kept;
            held.samples = held.samples.minus(&returned);
        }
        worker.held.retain(|held| held.key != key || !held.samples.is_empty());
        let held = worker.held.iter().any(|held| held.key == key);
        worker.push(Say::RevokeAck(v1::RevokeAck {
            grant: revoke.grant,
            returned: intervals_to_wire(&returned),
            held,
        }));
    }

    /// Lets every grant go that is over: with its report, or the acknowledgement of its revocation.
    pub(super) fn settle_all(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let over = |held: &Held| held.waiting.is_empty() && held.running.is_empty();
        let ended: Vec<Held> = worker.held.iter().filter(|held| over(held)).cloned().collect();
        worker.held.retain(|held| !over(held));
        for held in ended {
            let grant = Some(held.key.into());
            if held.revoked || !held.begun {
                worker.push(Say::RevokeAck(v1::RevokeAck { grant, ..Default::default() }));
            } else {
                let (unit, samples) = (held.unit, intervals_to_wire(&held.samples));
                let report = v1::ShardReport { grant, unit, samples, seconds: 1.0, ..Default::default() };
                worker.push_of(held.assigned, Say::Report(report));
            }
        }
    }
}
