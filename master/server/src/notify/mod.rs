//! `[notify]`: a job tells people that it has ended, failed, or waits. Nothing of the job depends on it: what cannot be told
//! is a warning.

mod idle;
mod notice;
mod notifier;

pub(crate) use notifier::Notifier;
