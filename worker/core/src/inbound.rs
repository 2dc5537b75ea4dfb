//! Handles frames of the master. Every frame may arrive twice.

use super::ending::ExitReason;
use super::grants::{GrantState, KeptGrant};
use super::session::{AgentCore, WelcomeTerms};
use compass_plan::engine::ENGINE_TIMEOUT;
use compass_proto::session::Arrival;
use compass_proto::{
    Protocols, digest_from_wire, drawn_from_wire, grant_from_wire, intervals_from_wire, intervals_to_wire, v1,
};
use compass_types::ids::{Epoch, UnitId};
use std::time::Duration;
use v1::master_frame::Body;
use v1::worker_frame::Body as WorkerBody;

impl AgentCore {
    /// Handles one frame.
    pub(super) fn master_frame(&mut self, frame: v1::MasterFrame) {
        self.outbox.acknowledged(frame.ack);
        let Some(stream) = &mut self.stream else { return };
        if frame.seq != 0 {
            // Frames before the welcome are replayed after it, with those that the last connection lost.
            if !stream.welcomed {
                return;
            }
            match stream.received.accept(frame.seq) {
                Arrival::New => stream.received.handled(frame.seq),
                Arrival::Repeat => return,
                Arrival::Gap => return self.redial("the master skipped a frame"),
            }
        }
        match frame.body {
            Some(Body::Welcome(welcome)) => self.welcome(&welcome),
            Some(Body::HeartbeatAck(ack)) => {
                self.lease.renewed(ack.sent_ms);
                self.credit_control.answered(ack.sent_ms, self.now_ms);
                self.send_credit_if_changed();
            }
            Some(Body::Grant(grant)) => self.grant(&grant),
            Some(Body::Revoke(revoke)) => self.revoke(&revoke),
            Some(Body::Wait(_)) => self.wait(),
            Some(Body::Release(_)) => self.release(),
            Some(Body::Shutdown(shutdown)) => self.shutdown(shutdown.reason),
            Some(Body::Refused(refused)) => self.ending = Some(ExitReason::Refused { reason: refused.reason }),
            Some(Body::Rejected(rejected)) => self.rejected(rejected.seq, &rejected.reason),
            Some(Body::Spilled(_)) => tracing::error!(seq = frame.seq, "received a spilled frame without its body"),
            // Acknowledged results leave the outbox; nothing else of them is kept.
            None => {}
        }
    }

    fn welcome(&mut self, welcome: &v1::Welcome) {
        if Protocols::OURS.common(Protocols::of(welcome.protocol, 0)).is_none() {
            let (theirs, ours) = (welcome.protocol, Protocols::OURS);
            let reason = format!(
                "the master speaks protocol {theirs}, this worker speaks {ours}; install the version that \
                 `compass-master --version` prints on its host"
            );
            self.ending = Some(ExitReason::Refused { reason });
            return;
        }
        let Ok(plan) = digest_from_wire(&welcome.plan) else {
            self.ending = Some(ExitReason::Refused { reason: "the welcome has no plan".into() });
            return;
        };
        let epoch = Epoch(welcome.epoch);
        // Of another run of the same plan nothing holds: its epochs, tasks and attempts are counted from the beginning again.
        let known = self.terms.as_ref().filter(|terms| terms.plan == plan && terms.run == welcome.run);
        let before = known.map(|terms| terms.epoch);
        if before.is_some_and(|latest| latest > epoch) {
            self.redial("the master has an older term than one that this worker has seen");
            return;
        }
        let Some(stream) = &mut self.stream else { return };
        stream.welcomed = true;
        self.lease.granted(stream.hello_sent_ms, welcome.lease_ttl_ms);
        if before.is_none() {
            self.drop_plan();
        }
        let most = self.slots.len();
        let active_slots = if welcome.max_slots == 0 { most } else { most.min(welcome.max_slots as usize) };
        let (lease_ttl_ms, heartbeat_ms) = (u64::from(welcome.lease_ttl_ms), u64::from(welcome.heartbeat_ms.max(10)));
        let paths = welcome.paths.iter().map(|rule| (rule.from.clone(), rule.to.clone())).collect();
        let offline_continue = welcome.offline_continue;
        let engine_timeout = match welcome.engine_timeout_ms {
            0 => ENGINE_TIMEOUT,
            given => Duration::from_millis(given.into()),
        };
        self.terms = Some(WelcomeTerms {
            protocol: welcome.protocol,
            epoch,
            plan,
            run: welcome.run.clone(),
            lease_ttl_ms,
            heartbeat_ms,
            active_slots,
            offline_continue,
            engine_timeout,
            paths,
        });
        self.reset_backoff();
        self.keep(welcome);
        tracing::info!(%epoch, plan = plan.short(), slots = active_slots, "welcomed by the master");
        self.outbox.acknowledged(welcome.last_ack);
        self.outbox.rewind();
        if before.is_some_and(|known| known != epoch) {
            for (model, facts) in self.facts.clone() {
                self.outbox.push(WorkerBody::Facts(v1::Facts { model: model.0, facts, load: None }));
            }
        }
        self.announce_drain_again();
        self.next_heartbeat_ms = 0;
        self.send_credit();
    }

    /// Keeps the grants that the welcome leaves to this worker.
    fn keep(&mut self, welcome: &v1::Welcome) {
        for grant in self.result_batches.grants() {
            self.send_results(grant);
        }
        let kept = welcome.kept.iter().filter_map(|kept| {
            let now = kept.now.as_ref()?;
            Some(KeptGrant {
                held: kept.held?.into(),
                now: now.id?.into(),
                samples: intervals_from_wire(&now.samples),
                proof: now.proof.clone(),
            })
        });
        let kept: Vec<_> = kept.collect();
        let renamed = self.grants.keep(&kept);
        // Returned since the hello: the master must not wait for them.
        for now in kept.iter().map(|kept| kept.now) {
            if self.grants.get(now).is_none() {
                self.outbox
                    .push(WorkerBody::RevokeAck(v1::RevokeAck { grant: Some(now.into()), ..Default::default() }));
            }
        }
        for (before, now) in renamed {
            tracing::info!(?before, ?now, "grant renamed");
            for busy in self.slots.iter_mut().filter_map(|slot| slot.busy.as_mut()).filter(|busy| busy.grant == before)
            {
                busy.grant = now;
            }
        }
        self.finish_all();
    }

    /// Returns how many grants the worker will hold: those that its slots run, and those ahead of them.
    fn wanted_credit(&self) -> u32 {
        match (&self.drain, &self.terms) {
            (None, Some(terms)) if !self.released => {
                terms.active_slots as u32 + self.credit_control.ahead(terms.active_slots as u32)
            }
            _ => 0,
        }
    }

    /// Sends how many grants the worker will hold.
    pub(super) fn send_credit(&mut self) {
        self.credit = self.wanted_credit();
        self.send_now(WorkerBody::Credit(v1::Credit { grants: self.credit }));
    }

    /// Sends how many grants the worker will hold, where that differs from the last number.
    pub(super) fn send_credit_if_changed(&mut self) {
        if self.wanted_credit() != self.credit {
            self.send_credit();
        }
    }

    /// Drops all state of the current plan and run.
    fn drop_plan(&mut self) {
        // At the end of a job the last frames may still be unacknowledged: nothing of it is missing.
        if self.grants.iter().next().is_some() || !self.outbox.is_empty() {
            tracing::info!("the master has another job; dropping the grants and results of the old one");
        }
        self.plan = None;
        self.released = false;
        self.unit_orders.clear();
        self.grants.clear();
        self.result_batches.clear();
        self.outbox.void();
        self.facts.clear();
        self.sequences.clear();
        self.loads.clear();
        self.sample_ms.clear();
        self.credit_control.forget(|_| false);
        for slot in &mut self.slots {
            (slot.resident, slot.unit) = (None, None);
            if let Some(busy) = &mut slot.busy {
                busy.stale = true;
            }
        }
    }

    fn grant(&mut self, grant: &v1::Grant) {
        let current = self.terms.as_ref().is_some_and(|terms| terms.plan.0 == grant.plan.as_slice());
        if !current {
            tracing::warn!(grant = ?grant.id, "ignored a grant of another plan");
            return;
        }
        let Ok(key) = grant_from_wire(grant.id) else {
            tracing::error!("ignored a grant without an id");
            return;
        };
        let samples = intervals_from_wire(&grant.samples);
        let samples_granted = samples.len();
        let (suspects, drawn) = (intervals_from_wire(&grant.suspects), drawn_from_wire(&grant.drawn, &samples));
        let held = GrantState::new(key, UnitId(grant.unit), samples, grant.proof.clone());
        let mut held = held.suspecting(&suspects).with_drawn(drawn);
        held.slots = grant.slots;
        if self.grants.offer(held) {
            let of = self.plan.as_ref().and_then(|plan| plan.unit(UnitId(grant.unit))).map(|unit| unit.name());
            tracing::debug!(task = %key.task, attempt = %key.attempt, of, samples = samples_granted, "grant");
            // An older attempt may have been pending with nothing running: it is finished.
            self.finish_all();
        }
    }

    fn revoke(&mut self, revoke: &v1::Revoke) {
        let Ok(key) = grant_from_wire(revoke.grant) else {
            tracing::error!(reason = revoke.reason, "ignored a revocation of a grant without an id");
            return;
        };
        tracing::info!(task = %key.task, attempt = %key.attempt, reason = revoke.reason, "grant revoked");
        let asked = intervals_from_wire(&revoke.samples);
        if asked.is_empty() && self.grants.revoke(key) {
            self.finish_all();
            return;
        }
        let wanted = self.grants.get_mut(key).filter(|held| !revoke.only_unbegun || held.is_unstarted());
        let returned = wanted.map(|held| held.return_unstarted(&asked)).unwrap_or_default();
        // A grant that is returned before any sample started needs no report.
        let emptied = self.grants.get(key).is_some_and(|held| held.samples.is_empty());
        if emptied {
            self.grants.remove(key);
        }
        let (held, returned) = (self.grants.get(key).is_some(), intervals_to_wire(&returned));
        self.outbox.push(WorkerBody::RevokeAck(v1::RevokeAck {
            grant: revoke.grant,
            returned,
            held,
            ..Default::default()
        }));
        self.finish_all();
    }

    fn shutdown(&mut self, reason: String) {
        tracing::info!(reason, "the master is shutting down");
        let (busy_ms, idle_ms, gaps) = self.idle_time.sum();
        tracing::info!(busy_ms, idle_ms, gaps, "busy and idle time of the slots");
        let drained = self.drain.take().map(|drain| drain.ending);
        self.ending = Some(drained.unwrap_or(ExitReason::Shutdown { reason }));
    }
}
