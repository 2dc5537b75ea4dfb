//! Prompts: templates as OpenCompass writes them, and the structured form that the plan keeps.

mod structured;
mod template;

pub use structured::{Prompt, Segment, ShotFormat};
pub use template::{ICE_TOKEN, Options, PromptConfig, Template};
