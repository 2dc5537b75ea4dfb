//! Templates of prompts: texts, messages, rounds.

pub(crate) mod raw_template;
pub(crate) mod template;
