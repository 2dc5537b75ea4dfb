//! Several jobs, one set of workers: who works for whom. Sans-io, as the scheduler of each job is.
//!
//! Schedulers know nothing of one another. The broker sees of a job how many slots it could use, and of a worker what it
//! specs, and says which job a worker attaches to and which one it leaves. A worker that is to leave finishes what it
//! has begun, hands back the rest, and becomes idle again: nothing is ever taken from it.
//!
//! **Shares.** Jobs with work get slots in proportion to their weights, each at least one worker where there are enough.
//! Where there are fewer workers than jobs, they take turns: a job's service is the time that its slots have cost by its
//! weight, and the job that had the least comes next. A job never has more slots than its bound.
//!
//! | id | rule |
//! |---|---|
//! | B1 | a job never has more slots than its bound, those of workers about to leave included |
//! | B2 | a worker is sent only to a job whose work it can do |
//! | B3 | no job with work that some worker can do waits indefinitely |
//! | B4 | a move makes shares more even, or ends a wait: the broker comes to rest when nothing changes |

#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod broker;
mod demand;
mod dispatcher;
mod share;
mod snapshot;
#[cfg(test)]
mod tests;

pub use broker::{Broker, Decision};
pub use demand::{Capability, Demand, JobId, JobTerms, Requirement, WorkerSpec};
pub use dispatcher::{Dispatch, Dispatcher};
pub use share::FairShare;
pub use snapshot::SchedulerSnapshot;
