//! Replacement of frames that the master rejects.

use compass_proto::v1;
use compass_types::intervals::IntervalSet;
use v1::sample_result::Outcome;
use v1::worker_frame::Body;

/// Returns the failure of a frame's samples; for a frame that ends a grant, the notice that the worker does not hold
/// it: the master grants what is missing again. `None` if the frame can be dropped.
pub(super) fn replacement(body: Body, reason: &str) -> Option<Body> {
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

/// Describes a frame for the log.
pub(super) fn describe(body: &Body) -> String {
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
