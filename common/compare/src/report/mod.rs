//! A comparison as text, JSON, Markdown and HTML.

mod escape;
mod forest;
mod gate;
mod html;
mod json;
mod layout;
mod markdown;
mod numbers;
mod text;

pub use escape::{html_text, markdown_text, plain_text};
pub use forest::forest;
pub use gate::{gate_headline, gate_junit, gate_markdown, gate_text};
pub(crate) use html::page;
pub use html::{STYLE, html, html_body};
pub use json::json;
pub(crate) use layout::{Table, wrapped_all};
pub use markdown::markdown;
pub(crate) use numbers::{counted, number, signed};
pub use text::{headline, notes, text};
