//! A master's way to the lead, its stay there and its writes under it: the server as a whole, where several jobs share it, and
//! every job on its own.
//!
//! The shipped term decides what it asks the store and what it makes of the replies; this file decides when it asks again.

use super::master::Phase;
use super::store::{Answer, Request};
use super::world::{Happening, World};
use compass_scheduler::invariants;
use compass_store::{Campaigned, Candidacy, CommitOutcome, Op, Reply, Term as Lead};
use compass_types::ids::Epoch;

/// Time for which a master waits for the store's answer, before it asks again.
const CALL_MS: u64 = 500;

/// Subject of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Led {
    /// The server: the book of its jobs, and the ports.
    Server,
    Job(usize),
}

/// Reason why the store was asked.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    LeaseToCampaign,
    Campaign {
        lease: i64,
    },
    KeepAlive,
    LeaseToLeadAgain,
    LeadAgain {
        lease: i64,
    },
    Load,
    Commit,
    /// Nothing depends on the answer.
    Aside,
}

/// A question to the store that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) led: Led,
    purpose: Purpose,
    request: Request,
}

/// A lead, or the wish for one.
#[derive(Debug, Default)]
pub(super) struct Term {
    candidacy: Option<Candidacy>,
    /// The lead as its holder knows it.
    pub(super) lead: Option<Lead>,
}

impl World {
    fn term(&mut self, at: usize, led: Led) -> &mut Term {
        let master = &mut self.masters[at];
        match led {
            Led::Server => &mut master.server,
            Led::Job(job) => &mut master.jobs[job].term,
        }
    }

    /// The epoch of a lead that the master believes to have.
    pub(super) fn epoch_led(&mut self, at: usize, led: Led) -> Option<Epoch> {
        self.term(at, led).lead.as_ref().map(Lead::epoch)
    }

    fn asks(&self, at: usize, led: Led, wanted: fn(&Purpose) -> bool) -> bool {
        self.masters[at].calls.values().any(|call| call.led == led && wanted(&call.purpose))
    }

    /// JobCommands the store.
    pub(super) fn call(&mut self, at: usize, led: Led, purpose: Purpose, request: Request) {
        let now = self.now;
        let master = &mut self.masters[at];
        master.last_call += 1;
        let (life, call) = (master.life, master.last_call);
        master.calls.insert(call, Call { led, purpose, request: request.clone() });
        let pause = self.rpc_pause();
        let arrives = (now + pause).max(self.masters[at].held_until);
        self.at(arrives, Happening::Asked { master: at, life, call, request });
        self.after(CALL_MS, Happening::Unanswered { master: at, life, call });
    }

    /// Campaigns for the lead, or keeps it.
    pub(super) fn contests(&mut self, at: usize, led: Led) {
        let life = self.masters[at].life;
        let campaigns = |purpose: &Purpose| matches!(purpose, Purpose::LeaseToCampaign | Purpose::Campaign { .. });
        let lease = self.term(at, led).lead.as_ref().map(Lead::lease);
        match lease {
            None if !self.asks(at, led, campaigns) => {
                let (candidate, nonce) = (format!("m{at}.{life}"), format!("{at:x}{life:08x}"));
                let candidacy = Candidacy::new(self.names(led), &candidate, &nonce, Epoch(0));
                self.term(at, led).candidacy = Some(candidacy);
                self.call(at, led, Purpose::LeaseToCampaign, Request::Lease);
            }
            Some(lease) if !self.asks(at, led, |purpose| matches!(purpose, Purpose::KeepAlive)) => {
                self.call(at, led, Purpose::KeepAlive, Request::KeepAlive { lease });
            }
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, at: usize, call: u64, answer: Answer) {
        let Some(Call { led, purpose, request }) = self.masters[at].calls.remove(&call) else { return };
        match (purpose, answer) {
            (Purpose::LeaseToCampaign, Answer::Lease(lease)) => self.campaigns(at, led, lease),
            (Purpose::Campaign { lease }, Answer::Transacted(Ok(reply))) => self.has_campaigned(at, led, lease, &reply),
            (Purpose::KeepAlive, Answer::Alive(false)) => self.lead_lapsed(at, led),
            (Purpose::LeaseToLeadAgain, Answer::Lease(lease)) => {
                if let Some(lead) = &self.term(at, led).lead {
                    let request = Request::Transact(lead.reassertion(lease));
                    self.call(at, led, Purpose::LeadAgain { lease }, request);
                }
            }
            (Purpose::LeadAgain { lease }, Answer::Transacted(Ok(reply))) => {
                let outcome = self.term(at, led).lead.as_mut().map(|lead| lead.judge_reassertion(lease, &reply));
                match outcome {
                    Some(CommitOutcome::Durable | CommitOutcome::Again) => {
                        self.oracle.saw("a lapsed lead was taken again");
                        self.write_on(at, led);
                    }
                    Some(CommitOutcome::Lapsed) => self.lead_lapsed(at, led),
                    _ => self.step_down(at, led),
                }
            }
            (Purpose::Load, Answer::Entries(entries)) => {
                if let Led::Job(job) = led {
                    self.load(at, job, &entries);
                }
            }
            (Purpose::Commit, Answer::Transacted(Ok(reply))) => self.is_written(at, led, &request, &reply),
            _ => {}
        }
    }

    /// There is no answer in time: most is asked again as it was, for it may have taken effect.
    pub(super) fn unanswered(&mut self, at: usize, call: u64) {
        let Some(Call { led, purpose, request }) = self.masters[at].calls.remove(&call) else { return };
        match purpose {
            Purpose::LeaseToCampaign | Purpose::KeepAlive | Purpose::Aside => {}
            Purpose::Commit => {
                self.oracle.saw("a transaction was not answered");
                if self.mutant == Some(super::Mutant::NoRereadAfterTimeout) {
                    let reply = Reply { applied: true, revision: 0, read: Vec::new() };
                    return self.is_written(at, led, &request, &reply);
                }
                if self.mutant == Some(super::Mutant::UnansweredEndsLead) {
                    return self.step_down(at, led);
                }
                self.call(at, led, purpose, request);
            }
            _ => self.call(at, led, purpose, request),
        }
    }

    fn campaigns(&mut self, at: usize, led: Led, lease: i64) {
        if let Some(candidacy) = &self.term(at, led).candidacy {
            let request = Request::Transact(candidacy.transaction(lease));
            self.call(at, led, Purpose::Campaign { lease }, request);
        }
    }

    fn has_campaigned(&mut self, at: usize, led: Led, lease: i64, reply: &Reply) {
        let Some(candidacy) = &mut self.term(at, led).candidacy else { return };
        match candidacy.judge(lease, reply) {
            Campaigned::Won(lead) => {
                let epoch = lead.epoch();
                *self.term(at, led) = Term { candidacy: None, lead: Some(lead) };
                self.oracle.note(self.now, || format!("m{at} leads epoch {epoch} of {led:?}"));
                match led {
                    Led::Server => self.server_opens(at, epoch),
                    Led::Job(job) => {
                        self.masters[at].jobs[job].phase = Phase::Opening(None);
                        self.call(at, led, Purpose::Load, Request::Read);
                    }
                }
            }
            Campaigned::Again => self.campaigns(at, led, lease),
            Campaigned::Held(_) => {
                self.term(at, led).candidacy = None;
                self.call(at, led, Purpose::Aside, Request::Revoke { lease });
            }
            Campaigned::Damaged(damage) => self.oracle.violation(invariants::L1, damage.to_string()),
        }
    }

    /// The lease ran out: the lead is taken again, if no other master has led since.
    fn lead_lapsed(&mut self, at: usize, led: Led) {
        let under_way = |purpose: &Purpose| matches!(purpose, Purpose::LeaseToLeadAgain | Purpose::LeadAgain { .. });
        if self.term(at, led).lead.is_some() && !self.asks(at, led, under_way) {
            self.call(at, led, Purpose::LeaseToLeadAgain, Request::Lease);
        }
    }

    /// Gives a lead back, for which nothing is left to do.
    pub(super) fn resigns(&mut self, at: usize, led: Led) {
        if let Some(lead) = std::mem::take(self.term(at, led)).lead {
            self.call(at, led, Purpose::Aside, Request::Revoke { lease: lead.lease() });
        }
    }

    /// Writes these in one transaction under the lead of a job.
    pub(super) fn write(&mut self, at: usize, job: usize, ops: Vec<Op>) {
        self.masters[at].jobs[job].writes = Some(ops);
        self.write_on(at, Led::Job(job));
    }

    fn write_on(&mut self, at: usize, led: Led) {
        let Led::Job(job) = led else { return };
        if self.asks(at, led, |purpose| matches!(purpose, Purpose::Commit)) {
            return;
        }
        let run = &self.masters[at].jobs[job];
        let Some((lead, ops)) = run.term.lead.as_ref().zip(run.writes.as_ref()) else { return };
        let (epoch, transaction, ops) = (lead.epoch(), lead.commit(ops), ops.clone());
        self.call(at, led, Purpose::Commit, Request::Commit { job, epoch, ops, transaction });
    }

    fn is_written(&mut self, at: usize, led: Led, request: &Request, reply: &Reply) {
        let Led::Job(job) = led else { return };
        let Some(lead) = self.term(at, led).lead.as_mut() else { return };
        let outcome = lead.judge(reply);
        if outcome == CommitOutcome::Durable && !reply.applied {
            self.oracle.saw("a transaction without an answer had taken effect");
        }
        match outcome {
            CommitOutcome::Durable => {
                let run = &mut self.masters[at].jobs[job];
                run.writes = None;
                match run.phase {
                    Phase::Opening(_) => self.opened(at, job),
                    Phase::Leading(_) => self.committed(at, job),
                    Phase::Standby => {}
                }
            }
            CommitOutcome::Again => self.write_on(at, led),
            CommitOutcome::Lapsed => self.lead_lapsed(at, led),
            CommitOutcome::Over => {
                self.oracle.saw("a transaction was fenced");
                self.step_down(at, led);
            }
            CommitOutcome::Damaged(part) => {
                let detail = format!("{part:?} is damaged, says the reply to {request:?}");
                self.oracle.violation(invariants::L1, detail);
            }
        }
    }
}
