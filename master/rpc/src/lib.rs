//! The worker-facing services: streams in, streams out, bulk on the side. Decide nothing of a job; who may speak to them at
//! all is settled where a connection is made (`accept`) and asked at every request (`peer`).

mod accept;
mod bulk;
mod connection_slots;
mod enrolment;
mod frames;
mod inbound;
mod parse;
mod peer;
mod proof;
mod rate;
mod refusals;
mod rights;
mod server;
mod session;
mod spills;
mod unit_terms;
mod uploads;
mod worker_router;

pub use accept::{Access, Connection, Connections, connections};
pub use bulk::PlanFiles;
pub use connection_slots::{Bounds, ConnectionSlots};
pub use inbound::Inbound;
pub use parse::{Parsed, ParsedFrame, ReceivedResult, ReceivedResults, misfit};
pub use peer::{AuthInterceptor, Peer, PeerIdentity};
pub use proof::{Claim, JobKey, KeyError};
pub use refusals::Refusals;
pub use server::{ServeError, WorkerService, bounded_server, serve};
pub use session::{Output, PoolTerms, Rejection, RunParameters, Session, refusal};
pub use unit_terms::UnitTerms;
pub use uploads::{UploadError, Uploader, Uploads};
pub use worker_router::{Answer, WorkerRouter};
