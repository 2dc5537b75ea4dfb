//! The worker-facing service: streams in, streams out, bulk on the side. Decides nothing.

mod bulk;
mod parse;
mod reception;
mod server;
mod session;

pub use bulk::{PlanFiles, Uploads};
pub use parse::{Parsed, parse_frame};
pub use reception::{Answer, OneJob, Reception};
pub use server::{Inbound, WorkerService, serve};
pub use session::{PoolTerms, Session, Terms, refuse};
