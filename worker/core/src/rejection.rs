//! What stands in the place of a frame that the master cannot take.

use compass_proto::v1;
use compass_types::intervals::IntervalSet;
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// The failure of the samples of a frame; of one that ends a grant, that the grant is not held any more: what the master
/// lacks of it, it grants again. `None` for one that is only dropped.
pub(super) fn instead(body: Body, reason: &str) -> Option<Body> {
    let not_held = |grant| Some(Body::RevokeAck(v1::RevokeAck { grant, ..Default::default() }));
    match body {
        Body::Results(results) => {
            let failed = |result: v1::SampleResult| v1::SampleResult {
                index: result.index,
                outcome: Some(Outcome::Failed(format!("the master rejected the result: {reason}"))),
                ..Default::default()
            };
            let samples = results.samples.into_iter().map(failed).collect();
            Some(Body::Results(v1::Results { samples, ..results }))
        }
        Body::Report(report) => not_held(report.grant),
        Body::Failed(failed) => not_held(failed.grant),
        Body::RevokeAck(ack) if !ack.held => not_held(ack.grant),
        _ => None,
    }
}

/// What a frame is, for the log.
pub(super) fn named(body: &Body) -> String {
    let of = |kind: &str, grant: Option<v1::GrantId>| {
        let v1::GrantId { task, attempt, .. } = grant.unwrap_or_default();
        format!("{kind} of task {task}, attempt {attempt}")
    };
    match body {
        Body::Results(results) => {
            let samples = IntervalSet::from_indices(results.samples.iter().map(|result| result.index));
            let runs: Vec<_> = samples.pairs().iter().map(|(first, end)| format!("{first}..{end}")).collect();
            let task = results.grant.unwrap_or_default().task;
            format!("results of task {task}, samples {}", runs.join(","))
        }
        Body::Report(report) => of("the report", report.grant),
        Body::Failed(failed) => of("the failure", failed.grant),
        Body::RevokeAck(ack) => of("the return", ack.grant),
        Body::Draining(_) => "the start of a drain".to_owned(),
        Body::Facts(facts) => format!("the facts of model {}", facts.model),
        _ => "a frame without a number".to_owned(),
    }
}
