//! Prompts: templates as OpenCompass writes them, and the structured form that the plan keeps.

mod answers;
mod check;
mod error;
mod flat;
mod form;
mod format;
mod labels;
mod lm_text;
mod messages;
mod meta_template;
mod placeholder;
mod prefix;
mod python_text;
mod question;
mod recipe;
mod render;
mod rendered;
mod rounds;
mod shot;
mod shots;
mod structured;
mod template;

pub use error::{PromptError, Split};
pub use format::{Row, safe_format};
pub use messages::chat_role;
pub use meta_template::{MetaItem, MetaRole, MetaStyle, MetaTemplate};
pub use python_text::{python_repr, python_str};
pub use render::{RenderedDataset, render};
pub use rendered::{Message, Mode, RenderedPrompt, render_shots};
pub use rounds::{Line, Role, Rounds};
pub use shot::Shot;
pub use structured::{Prompt, Section, Segment, ShotFormat, Turn};
pub use template::{ICE_TOKEN, Options, PromptConfig, Template};
