//! One job from its folder to its exit code, the registry of jobs, and the commands that ask for them.
//!
//! [`job`] runs one; [`control`] answers `submit`, `status`, `cancel` and `explain`, from the command line to a master and back.

pub mod control;
mod http;
pub mod job;

pub use control::{
    About, Accepted, ControlService, Declined, Followed, JobEntry, JobRegistry, JobStatus, JobView, MasterStatus,
    ServerBackend, ServerOfJobs, Socket, Submission,
};
pub use http::access::BearerToken;
pub use http::secrets::{HttpSecrets, HttpSecretsError};
pub use http::settings::HttpSettings;
pub use job::{Ended, Failure, JobEnvironment, JobRecord, JobRequest, Mode, OpenedRun, SlotBound, StageTerms};
