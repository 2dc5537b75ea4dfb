//! Receivers of a job's notices.

use std::collections::BTreeSet;
use std::time::Duration;

/// The receivers of a job's notices, and which notices they get. Addresses are secrets: a client that has one can write to it.
#[derive(Clone, PartialEq, Eq)]
pub struct NotifyConfig {
    /// Gets a JSON object.
    pub webhook: Option<String>,
    /// A bot of Lark or Feishu; gets a text.
    pub lark: Option<String>,
    /// A program with its arguments; gets the JSON object as its standard input.
    pub command: Vec<String>,
    pub on: BTreeSet<NotifyEvent>,
    /// Time without a result after which the job is called idle.
    pub idle: Duration,
}

/// An event that a notice tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotifyEvent {
    /// The job has its table.
    End,
    /// The job ended without one.
    Failure,
    /// Nothing has come in for a while.
    Idle,
}

impl NotifyEvent {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 3] = [Self::End, Self::Failure, Self::Idle];

    /// Its name in the configuration and in what is sent.
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Failure => "failure",
            Self::Idle => "idle",
        }
    }
}

impl std::fmt::Debug for NotifyConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NotifyConfig { webhook, lark, command, on, idle } = self;
        let known = |address: &Option<String>| address.as_ref().map(|_| "...");
        let mut shown = f.debug_struct("NotifyConfig");
        shown.field("webhook", &known(webhook)).field("lark", &known(lark));
        shown.field("command", command).field("on", on).field("idle", idle).finish()
    }
}
