//! Judges results as they arrive: which count, which do not fit the plan, which this worker was not granted.
//!
//! Every result is acknowledged, whatever becomes of it: one that does not count would else be replayed indefinitely.

use super::leader::{FrameContent, Leader};
use compass_ledger::Submission;
use compass_plan::Misfit;
use compass_progress::Refusals;
use compass_rpc::{ReceivedResult, ReceivedResults};
use compass_scheduler::{DeviceType, Event, Handed, Record, Unfit};
use compass_types::ids::{GrantId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use compass_types::result::Outcome;

/// Device type whose numbers a result's are, as far as two results of it must agree. A failure and the result of a program
/// are no numbers of a device.
fn device(of_worker: DeviceType, outcome: &Outcome) -> DeviceType {
    match outcome {
        Outcome::Failed { .. } | Outcome::Executed(_) => DeviceType::Unknown,
        _ => of_worker,
    }
}

impl Leader {
    /// Takes what counts of the results that `worker` hands in; the rest is refused, counted and named.
    pub fn results(
        &mut self,
        now: u64,
        worker: &WorkerId,
        handed: ReceivedResults,
        out: &mut Vec<Submission>,
    ) -> FrameContent {
        let ReceivedResults { grant, unit, plan, samples: arrived, device: computed_on, .. } = handed;
        let count = arrived.len() as u64;
        let Some(session) = self.sessions.get(worker) else { return FrameContent::Nothing };
        // An engine knows better than its worker, which guesses.
        let of_worker = match DeviceType::of_engine(&computed_on) {
            // Whatever the worker has, nothing of it answered.
            DeviceType::Unknown if computed_on == "endpoint" => DeviceType::Unknown,
            DeviceType::Unknown => DeviceType::named(&session.device),
            known => known,
        };
        let is_ours = plan == self.terms.plan.0;
        let known = self.terms.units.get(&unit);
        let model = self.pins.model_of(unit);
        let (mut samples, mut misfits, mut foreign) = (Vec::with_capacity(arrived.len()), Vec::new(), Vec::new());
        for ReceivedResult { index, mut bytes, result } in arrived {
            let may = is_ours && session.rights.cover(&grant, unit, index);
            if !may {
                foreign.push(index);
                continue;
            }
            let checked = result.map_err(|error| Misfit::Malformed(error.to_string()));
            let whole = checked.and_then(|result| match known {
                Some(known) => known.whole(result, &mut bytes),
                None => Ok(result),
            });
            match whole {
                Err(misfit) => misfits.push(Unfit { index, result: bytes, misfit }),
                Ok(result) => {
                    self.costs.add(model, &result);
                    let failed = matches!(result.outcome, Outcome::Failed { .. });
                    let device = device(of_worker, &result.outcome);
                    samples.push(Handed { index, result: bytes, failed, device });
                }
            }
        }
        if let Some(first) = foreign.first() {
            let refusals = self.refusals.entry(worker.clone()).or_default();
            let is_first = refusals.not_granted == 0;
            refusals.not_granted += foreign.len() as u64;
            refusals.times += 1;
            let times = refusals.times;
            let (name, refused) = (self.terms.unit_name(unit), foreign.len());
            let what = if is_ours { "was never granted" } else { "has of another plan" };
            let text = format!(
                "refused {refused} results of worker {worker}: it sent sample {first} of {name}, which it {what}"
            );
            if is_first {
                tracing::warn!("{text}");
            } else {
                tracing::debug!("{text}");
            }
            self.decide(now, Event::Refused { worker: worker.clone(), times }, out);
        }
        if let Some(first) = samples.iter().find(|sample| sample.device != DeviceType::Unknown) {
            self.pins.computed(model, first.device);
        }
        if !samples.is_empty() {
            self.decide(now, Event::Results { worker: worker.clone(), grant, unit, samples }, out);
        }
        while let Some((model, reason)) = self.costs.next_spent() {
            self.decide(now, Event::Stop { model, reason }, out);
        }
        if !misfits.is_empty() {
            let refusals = self.refusals.entry(worker.clone()).or_default();
            let is_first = refusals.misfits == 0;
            refusals.misfits += misfits.len() as u64;
            if let Some(Unfit { index, misfit, .. }) = misfits.first().filter(|_| is_first) {
                let name = self.terms.unit_name(unit);
                tracing::warn!("refused a result of worker {worker}: sample {index} of {name} has {misfit}");
            }
            self.decide(now, Event::Misfits { worker: worker.clone(), grant, unit, samples: misfits }, out);
        }
        self.let_out();
        FrameContent::Results { count }
    }

    /// Returns whether a report is of a grant that was made to the worker; one that is not is counted and named.
    pub(super) fn may_report(
        &mut self,
        now: u64,
        worker: &WorkerId,
        grant: &GrantId,
        unit: UnitId,
        out: &mut Vec<Submission>,
    ) -> bool {
        // Its samples may be more: those sent under names that the grant had before.
        let covered = |session: &compass_rpc::Session| session.rights.include(grant, unit);
        if self.sessions.get(worker).is_some_and(covered) {
            return true;
        }
        let refusals = self.refusals.entry(worker.clone()).or_default();
        refusals.void_reports += 1;
        refusals.times += 1;
        let times = refusals.times;
        if refusals.void_reports == 1 {
            let name = self.terms.unit_name(unit);
            tracing::warn!("refused a report of worker {worker} on samples of {name} that it was never granted");
        }
        self.decide(now, Event::Refused { worker: worker.clone(), times }, out);
        false
    }

    /// The worker has said its last of a grant: what it hands in of it from now on counts no more.
    pub(super) fn ends_right(&mut self, worker: &WorkerId, grant: &GrantId) {
        if let Some(session) = self.sessions.get_mut(worker) {
            session.rights.end(grant);
        }
    }

    /// The worker will not begin these samples of a grant.
    pub(super) fn shrinks_right(&mut self, worker: &WorkerId, grant: &GrantId, samples: &IntervalSet) {
        if let Some(session) = self.sessions.get_mut(worker) {
            session.rights.shrink(grant, samples);
        }
    }

    /// Says that claims of a hello are void.
    pub(super) fn claims_are_void(&mut self, worker: &WorkerId, count: usize) {
        if count == 0 {
            return;
        }
        self.refusals.entry(worker.clone()).or_default().void_claims += count as u64;
        tracing::warn!(
            "worker {worker} claims {count} grants without a proof that this job can check (they were made to another \
             process, or the store that held the job's key is lost); what it holds of them runs again"
        );
    }

    /// Names a result that differs from the one that is recorded.
    pub(super) fn name_divergence(&self, record: &Record) {
        let Record::Divergence { unit, worker, handed: Handed { index, .. }, same_device, .. } = record else { return };
        let name = self.terms.unit_name(*unit);
        if *same_device {
            tracing::warn!(
                "sample {index} of {name} came again from worker {worker} and differs, on the same type of device; the \
                 first result stands"
            );
        } else {
            tracing::debug!("sample {index} of {name} came again from worker {worker} and differs; the first stands");
        }
    }

    /// Returns the refusals, by worker.
    pub fn refusals(&self) -> impl Iterator<Item = (&WorkerId, &Refusals)> {
        self.refusals.iter()
    }
}
