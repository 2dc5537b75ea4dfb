//! Chat templates: messages to one text, as transformers' `apply_chat_template` renders them.

mod environment;
mod format;
mod generation_tag;
mod json;
mod python_output;
mod render;
mod source;
mod thinking;

pub use format::{ChatFormat, FormatFault, RenderedChat};
pub use render::{ChatError, ChatTemplate, TODAY, render_chat};
pub use source::{ChatTemplates, FileFault, NoTemplate, special_tokens};
pub use thinking::{ChatThinking, EFFORT, Probe, ThinkingFault, ThinkingOfModel, thinking_of};
