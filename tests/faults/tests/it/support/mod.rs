//! A fake master, a plan without data, and the real executable.

mod agent;
mod collect;
mod gate;
mod master;
mod plan;

pub(crate) use agent::{Agent, children_of, eventually, is_running};
pub(crate) use collect::Collected;
pub(crate) use gate::Gate;
pub(crate) use master::{FakeMaster, Session, WelcomeTerms, proof};
pub(crate) use plan::TestPlan;
