//! Reads a worker's frame: once, on the task of its connection, and trusted afterwards.

use compass_proto::session::Seq;
use compass_proto::{ParseError, grant_from_wire, intervals_from_wire, v1};
use compass_scheduler::FailureClass;
use compass_types::ids::{GrantId, ModelId, UnitId};
use compass_types::intervals::IntervalSet;
use compass_types::result::SampleResult;
use prost::Message as _;
use v1::worker_frame::Body;

/// Longest that a grant can have taken.
const MOST_SECONDS: f64 = 1e9;
/// Most slots of one worker: far above what any host has, and far below where sums over all workers overflow.
const MOST_SLOTS: u32 = 65_536;

/// Explains why a worker is not let in with this hello; `None` where nothing speaks against it.
pub fn misfit(hello: &v1::Hello) -> Option<String> {
    match hello.slots {
        _ if hello.worker.is_empty() => Some("it has no name".into()),
        0 => Some("it offers no slot; start it with --slots 1 or more".into()),
        slots if slots > MOST_SLOTS => {
            Some(format!("it offers {slots} slots; {MOST_SLOTS} are the most of one worker"))
        }
        _ => None,
    }
}

/// A worker's frame, read where it arrived: nothing behind this reads the wire again.
#[derive(Debug)]
pub struct ParsedFrame {
    /// Its number; 0 where it has none.
    pub seq: Seq,
    /// The highest of the master's frames that the worker has handled.
    pub ack: Seq,
    /// Request of the frame; an error where the protocol does not allow it: the connection is not worth keeping.
    pub body: Result<Parsed, ParseError>,
}

impl From<v1::WorkerFrame> for ParsedFrame {
    fn from(frame: v1::WorkerFrame) -> Self {
        Self { seq: frame.seq, ack: frame.ack, body: parse_body(frame.body) }
    }
}

/// Request of a frame.
#[derive(Debug)]
pub enum Parsed {
    /// A grant is not held, or no longer; or samples that were asked for will not begin.
    Returned { grant: GrantId, samples: IntervalSet, held: bool, unbegun: bool },
    /// So many grants at once.
    Credit { grants: u32 },
    /// It begins nothing more.
    Draining { reason: String },
    /// The end of a grant; `bytes` are the report as it is recorded.
    Report { grant: GrantId, unit: UnitId, samples: u32, busy_ms: u64, bytes: Vec<u8>, report: Box<v1::ShardReport> },
    /// A grant comes back undone.
    Failed { grant: GrantId, class: FailureClass, message: String },
    /// For the session, which knows what was granted to it.
    Results(ReceivedResults),
    /// To be echoed, and for the scheduler as a sign of life.
    Heartbeat { sent_ms: u64, waiting: String },
    /// For the record of the run.
    Facts { model: ModelId, facts: Vec<u8>, load: Option<v1::Load> },
    /// A rejection of one of our frames.
    Rejected { seq: u64, reason: String },
    /// Nothing to do beyond the acknowledgement.
    Nothing,
}

fn malformed(field: &'static str, reason: &'static str) -> ParseError {
    ParseError::Malformed { field, reason }
}

/// Most characters of what a worker says that it waits for.
const MOST_WAITING: usize = 1000;

/// Reads the body of a frame.
fn parse_body(body: Option<Body>) -> Result<Parsed, ParseError> {
    Ok(match body {
        None => Parsed::Nothing,
        Some(Body::RevokeAck(ack)) => {
            let grant = grant_from_wire(ack.grant)?;
            let samples = intervals_from_wire(&ack.returned);
            Parsed::Returned { grant, samples, held: ack.held, unbegun: ack.unbegun }
        }
        Some(Body::Hello(_)) => return Err(malformed("hello", "a second one on the same stream")),
        Some(Body::Spilled(_)) => return Err(malformed("spilled", "its content was not put in its place")),
        Some(Body::Rejected(rejected)) => Parsed::Rejected { seq: rejected.seq, reason: rejected.reason },
        Some(Body::Heartbeat(v1::Heartbeat { sent_ms, waiting })) => {
            let waiting = waiting.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_WAITING).collect();
            Parsed::Heartbeat { sent_ms, waiting }
        }
        Some(Body::Credit(credit)) => Parsed::Credit { grants: credit.grants },
        Some(Body::Draining(draining)) => Parsed::Draining { reason: draining.reason },
        Some(Body::Facts(facts)) => Parsed::Facts { model: ModelId(facts.model), facts: facts.facts, load: facts.load },
        Some(Body::Results(results)) => Parsed::Results(parse_results(results)?),
        Some(Body::Report(report)) => {
            let grant = grant_from_wire(report.grant)?;
            if !(0.0..=MOST_SECONDS).contains(&report.seconds) {
                return Err(malformed("report.seconds", "no duration"));
            }
            let samples = intervals_from_wire(&report.samples).len();
            let busy_ms = (report.seconds * 1000.0) as u64;
            let (unit, bytes) = (UnitId(report.unit), report.encode_to_vec());
            Parsed::Report { grant, unit, samples, busy_ms, bytes, report: Box::new(report) }
        }
        Some(Body::Failed(failed)) => {
            let class = match failed.class() {
                v1::FailureClass::User => FailureClass::User,
                v1::FailureClass::Transient => FailureClass::Transient,
                v1::FailureClass::Infrastructure => FailureClass::Infrastructure,
                v1::FailureClass::NoRoom => FailureClass::NoRoom,
                v1::FailureClass::Unable => FailureClass::Unable(failed.kind().try_into()?),
                v1::FailureClass::Unspecified => return Err(ParseError::Missing("failed.class")),
            };
            Parsed::Failed { grant: grant_from_wire(failed.grant)?, class, message: failed.message }
        }
    })
}

/// Results of one grant as a worker hands them in: nothing is judged yet.
#[derive(Debug)]
pub struct ReceivedResults {
    pub grant: GrantId,
    pub unit: UnitId,
    /// Digest of the plan that they belong to, as the worker names it.
    pub plan: Vec<u8>,
    /// Digest of the weights that computed them; empty for a model without weights.
    pub weights: Vec<u8>,
    /// Device that computed them, as the engine names it; empty when the worker does not say.
    pub device: String,
    pub samples: Vec<ReceivedResult>,
}

/// One result: parsed here, and nowhere else before it is recorded.
#[derive(Debug)]
pub struct ReceivedResult {
    pub index: u32,
    /// Its canonical bytes, which are recorded.
    pub bytes: Vec<u8>,
    /// Its value; an error where it makes no sense.
    pub result: Result<SampleResult, ParseError>,
}

fn parse_results(results: v1::Results) -> Result<ReceivedResults, ParseError> {
    let v1::Results { grant, unit, plan, weights, device, samples } = results;
    let samples = samples.into_iter().map(arrived).collect();
    let grant = grant_from_wire(grant)?;
    Ok(ReceivedResults { grant, unit: UnitId(unit), plan, weights, device, samples })
}

fn arrived(result: v1::SampleResult) -> ReceivedResult {
    let (index, bytes) = (result.index, result.encode_to_vec());
    ReceivedResult { index, bytes, result: SampleResult::try_from(result) }
}
