//! The worker-facing service: streams in, streams out, bulk on the side. Decides nothing.

mod bulk;
mod parse;
mod server;
mod session;

pub use bulk::{PlanFiles, Uploads};
pub use parse::{Parsed, parse_frame};
pub use server::{Inbound, WorkerService, serve};
pub use session::{PoolTerms, Session, Terms, refuse};
