//! What stands in the place of a frame that the master cannot take.

use compass_common::intervals::IntervalSet;
use compass_proto::v1;
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// The failure of the samples of a frame; of one that ends a grant, that the grant is not held any more: what the master
/// lacks of it, it grants again. `None` for one that is only dropped.
pub(super) fn instead(body: Body, reason: &str) -> Option<Body> {
    let not_held =
        |epoch, task, attempt| Some(Body::RevokeAck(v1::RevokeAck { epoch, task, attempt, ..Default::default() }));
    match body {
        Body::Results(results) => {
            let failed = |result: v1::SampleResult| v1::SampleResult {
                index: result.index,
                outcome: Some(Outcome::Failed(format!("the master cannot take the result: {reason}"))),
                ..Default::default()
            };
            let samples = results.samples.into_iter().map(failed).collect();
            Some(Body::Results(v1::Results { samples, ..results }))
        }
        Body::Report(report) => not_held(report.epoch, report.task, report.attempt),
        Body::Failed(failed) => not_held(failed.epoch, failed.task, failed.attempt),
        Body::RevokeAck(ack) if !ack.held => not_held(ack.epoch, ack.task, ack.attempt),
        _ => None,
    }
}

/// What a frame is, for the log.
pub(super) fn named(body: &Body) -> String {
    let grant = |kind: &str, task: u32, attempt: u32| format!("{kind} of task {task}, attempt {attempt}");
    match body {
        Body::Results(results) => {
            let samples = IntervalSet::from_indices(results.samples.iter().map(|result| result.index));
            let runs: Vec<_> = samples.pairs().iter().map(|(first, end)| format!("{first}..{end}")).collect();
            format!("results of task {}, samples {}", results.task, runs.join(","))
        }
        Body::Report(report) => grant("the report", report.task, report.attempt),
        Body::Failed(failed) => grant("the failure", failed.task, failed.attempt),
        Body::RevokeAck(ack) => grant("the return", ack.task, ack.attempt),
        Body::Accepted(_) => "an acceptance".to_owned(),
        Body::Draining(_) => "the start of a drain".to_owned(),
        Body::Facts(facts) => format!("the facts of model {}", facts.model),
        _ => "a frame without a number".to_owned(),
    }
}
