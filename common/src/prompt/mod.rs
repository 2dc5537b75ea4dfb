//! Prompts: templates as OpenCompass writes them, and the structured form that the plan keeps.

mod answers;
mod check;
mod error;
mod format;
mod labels;
mod placeholder;
mod prefix;
mod python_text;
mod question;
mod recipe;
mod render;
mod shots;
mod structured;
mod template;

pub use error::{PromptError, Split};
pub use format::{Row, safe_format};
pub use python_text::{python_repr, python_str};
pub use render::{RenderedDataset, render};
pub use structured::{Prompt, Segment, ShotFormat};
pub use template::{ICE_TOKEN, Options, PromptConfig, Template};
