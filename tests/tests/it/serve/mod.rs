//! A master that stays. Real processes, echo engine.

mod commands;
mod jobs;
mod served;
mod takeover;
