//! The worker-facing services: streams in, streams out, bulk on the side. Decide nothing of a job; who may speak to them at
//! all is settled where a connection is made (`accept`) and asked at every request (`peer`).

mod accept;
mod bulk;
mod enrolment;
mod frames;
mod parse;
mod peer;
mod places;
mod proof;
mod rate;
mod reception;
mod refusals;
mod rights;
mod server;
mod session;
mod spills;
mod uploads;

pub use accept::{Access, Connection, Connections, connections};
pub use bulk::PlanFiles;
pub use parse::{Arrived, HandedIn, Parsed, ParsedFrame, misfit};
pub use peer::{Gate, Peer, Standing};
pub use places::{Bounds, Places};
pub use proof::{Claim, JobKey, KeyError};
pub use reception::{Answer, Reception};
pub use refusals::Refusals;
pub use server::{Inbound, ServeError, WorkerService, bounded_server, serve};
pub use session::{Output, PoolTerms, Rejection, Session, Terms, UnitTerms, refusal};
pub use uploads::{UploadError, Uploader, Uploads};
