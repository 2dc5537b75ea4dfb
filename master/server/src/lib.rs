//! A master's server: one listener for workers, one set of launched workers, one page and one socket for commands, whatever
//! the number of jobs. `alone` runs one job with a server that ends with it; `serve` takes jobs from `submit`, runs them side
//! by side, and shares its workers out among them.
//!
//! `serve` stores what it accepts before it says so; a server that is killed and started again continues with every job that
//! has not ended, as a leader of its own epoch each. The `broker` says who works for whom; the dispatcher carries it out.

mod agents;
mod alone;
mod book;
mod job_config;
mod job_workers;
mod notify;
mod peers;
mod ports;
pub mod serve;
mod server;
mod server_job;
mod status_file;
mod worker_dispatcher;

pub use alone::run_alone;
pub use serve::serve;
pub use status_file::with_status_file;
