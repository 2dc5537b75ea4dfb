//! From a worker's frame to the scheduler's event: parsed here, trusted afterwards.

use super::bulk::Uploads;
use crate::core::{Event, FailureClass, GrantRef};
use compass_common::ids::{Attempt, Digest, Epoch, TaskId, UnitId, WorkerId};
use compass_common::result::SampleResult;
use compass_proto::{ParseError, digest_from_wire, intervals_from_wire, v1};
use prost::Message as _;
use v1::worker_frame::Body;

/// What a frame asks for.
#[derive(Debug)]
pub enum Parsed {
    /// For the scheduler.
    Event(Event),
    /// To be echoed, and for the scheduler as a sign of life.
    Heartbeat { sent_ms: u64 },
    /// For the record of the run.
    Facts { model: u32, facts: Vec<u8> },
    /// Nothing to do beyond the acknowledgement.
    Nothing,
}

fn malformed(field: &'static str, reason: &'static str) -> ParseError {
    ParseError::Malformed { field, reason }
}

fn grant(epoch: u64, task: u32, attempt: u32) -> GrantRef {
    GrantRef { epoch: Epoch(epoch), task: TaskId(task), attempt: Attempt(attempt) }
}

/// Reads one frame of `worker`, which must speak of the plan that this master runs.
///
/// # Errors
/// A frame that the protocol does not allow; the connection that sent it is not worth keeping.
pub fn parse_frame(
    worker: &WorkerId,
    body: Option<Body>,
    plan: &Digest,
    uploads: &Uploads,
) -> Result<Parsed, ParseError> {
    let worker = worker.clone();
    Ok(match body {
        None | Some(Body::Accepted(_)) => Parsed::Nothing,
        Some(Body::RevokeAck(ack)) => {
            let grant = grant(ack.epoch, ack.task, ack.attempt);
            let samples = intervals_from_wire(&ack.returned);
            Parsed::Event(Event::Returned { worker, grant, samples, held: ack.held })
        }
        Some(Body::Hello(_)) => return Err(malformed("hello", "a second one on the same stream")),
        Some(Body::Heartbeat(heartbeat)) => Parsed::Heartbeat { sent_ms: heartbeat.sent_ms },
        Some(Body::Credit(credit)) => Parsed::Event(Event::Credit { worker, grants: credit.grants }),
        Some(Body::Draining(draining)) => {
            tracing::info!(%worker, reason = draining.reason, "worker is draining");
            Parsed::Event(Event::Draining { worker })
        }
        Some(Body::Facts(facts)) => Parsed::Facts { model: facts.model, facts: facts.facts },
        Some(Body::Results(results)) => Parsed::Event(parse_results(worker, results, plan, uploads)?),
        Some(Body::Report(report)) => {
            let unit = UnitId(report.unit);
            let grant = grant(report.epoch, report.task, report.attempt);
            let samples = intervals_from_wire(&report.samples).len();
            let busy_ms = (report.seconds * 1000.0) as u64;
            Parsed::Event(Event::Report { worker, grant, unit, samples, busy_ms, report: report.encode_to_vec() })
        }
        Some(Body::Failed(failed)) => {
            let class = match failed.class() {
                v1::FailureClass::User => FailureClass::User,
                v1::FailureClass::Transient => FailureClass::Transient,
                v1::FailureClass::Infrastructure => FailureClass::Infrastructure,
                v1::FailureClass::Unspecified => return Err(ParseError::Missing("failed.class")),
            };
            let grant = grant(failed.epoch, failed.task, failed.attempt);
            Parsed::Event(Event::Failed { worker, grant, class, message: failed.message })
        }
    })
}

fn parse_results(
    worker: WorkerId,
    results: v1::Results,
    plan: &Digest,
    uploads: &Uploads,
) -> Result<Event, ParseError> {
    if digest_from_wire(&results.plan)? != *plan {
        return Err(malformed("results.plan", "results of another plan"));
    }
    let mut samples = Vec::with_capacity(results.samples.len() + results.uploaded.len());
    for result in results.samples {
        samples.push(checked(result)?);
    }
    for digest in &results.uploaded {
        let digest = digest_from_wire(digest)?;
        let bytes = uploads.take(&digest).ok_or_else(|| malformed("results.uploaded", "was not uploaded"))?;
        let result = v1::SampleResult::decode(bytes.as_slice());
        samples.push(checked(result.map_err(|_| malformed("results.uploaded", "is no result"))?)?);
    }
    let grant = grant(results.epoch, results.task, results.attempt);
    Ok(Event::Results { worker, grant, unit: UnitId(results.unit), samples })
}

/// The index and the canonical bytes of a result that makes sense.
fn checked(result: v1::SampleResult) -> Result<(u32, Vec<u8>), ParseError> {
    let (index, bytes) = (result.index, result.encode_to_vec());
    SampleResult::try_from(result)?;
    Ok((index, bytes))
}
