//! The worker-facing services: streams in, streams out, bulk on the side. Decide nothing of a job; who may speak to them at
//! all is settled where a connection is made (`accept`) and asked at every request (`peer`).

mod accept;
mod bulk;
mod enrolment;
mod parse;
mod peer;
mod places;
mod rate;
mod reception;
mod refusals;
mod server;
mod session;

pub use accept::{Access, Connection, Connections, connections};
pub use bulk::{PlanFiles, Uploads};
pub use parse::{Parsed, parse_frame};
pub use peer::{Gate, Peer, Standing};
pub use places::Bounds;
pub use reception::{Answer, OneJob, Reception};
pub use refusals::Refusals;
pub use server::{Inbound, WorkerService, bounded_server, serve};
pub use session::{PoolTerms, Session, Terms, refuse};
