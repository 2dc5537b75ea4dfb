//! A fake master, a plan without data, and the real executable.

mod agent;
mod collect;
mod master;
mod plan;

pub(crate) use agent::{Agent, children_of, is_running};
pub(crate) use collect::Collected;
pub(crate) use master::{FakeMaster, Session, WelcomeTerms, proof};
pub(crate) use plan::TestPlan;
