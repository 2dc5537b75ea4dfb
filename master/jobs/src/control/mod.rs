//! Commands of people: `submit`, `status`, `cancel`, `explain`, from the command line to a master and back.
//!
//! The service (`service`) knows nothing of what carries it; here that is a socket of the file system that only its owner
//! can open (`socket`). Every master opens one: a server, and a run that ends with its job.

mod client;
mod commands;
mod elsewhere;
mod job_view;
mod keyed;
mod planning;
mod refusal;
mod registry;
mod server_capacity;
mod service;
mod shortage;
mod socket;
mod status;
mod submit;
mod usual;

pub use commands::{About, cancel, explain, status};
pub use job_view::JobView;
pub use keyed::{Followed, ServerOfJobs};
pub use planning::{announce_planning, announce_standby};
pub use registry::{Accepted, Declined, JobEntry, JobRegistry, ServerBackend};
pub use server_capacity::ServerCapacity;
pub use service::ControlService;
pub use socket::{SERVER, Socket, SocketError, open};
pub use status::{JobStatus, MasterStatus, WorkerStatus};
pub use submit::{Submission, submit};
pub use usual::usual_state_dir;
