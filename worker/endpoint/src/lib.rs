//! Models behind an endpoint that speaks OpenAI's protocol (vLLM, SGLang, llama.cpp, commercial ones), as an engine.
//!
//! [`load`] asks the endpoint once and gives an [`Engine`](compass_plan::engine::Engine) that keeps many requests in flight.
//! [`pace`] decides how fast requests are sent, without a clock; [`answer`] interprets answers; [`asker`] decides what is tried
//! again. Every sample ends in a result: its score, or a failure whose class its reason begins with.

mod answer;
mod asker;
mod body;
mod bounded;
mod context;
mod engine;
mod key;
mod pace;
mod probe;
mod refusal;
mod score;
mod sent;
mod stream;
mod work;

pub use engine::load;
