//! One job, from a configuration to its table: which run folder it works in, which stages it walks through, how it ends.
//!
//! `compass-master --config` runs one of these and ends with it; a server runs many. What a stage does stands in
//! `pipeline`.

mod failure;
mod opening;
mod record;
mod request;
mod run;

pub use failure::Failure;
pub use opening::{OpenedRun, check_http, kept_of, led_elsewhere, open_in, open_run};
pub use record::{Ended, JobRecord, SlotBound, StageTerms, now, why_it_ended};
pub use request::{JobRequest, Mode};
pub use run::{JobEnvironment, run};
