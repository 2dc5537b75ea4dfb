//! `compass-master watch`: one job for each checkpoint of a folder, as they appear.
//!
//! `compass-watch` decides what begins when, and does nothing else. Here the folder is listed, checkpoints are read,
//! jobs are run in this process or handed to a server, and the curve is written.

mod folder;
mod here;
mod job_run;
mod jobs;
pub mod order;
mod run;
mod served;
mod subject;
mod tables;

pub use order::Order;
pub use run::watch;
