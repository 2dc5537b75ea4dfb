//! Models behind an endpoint that speaks OpenAI's protocol (vLLM, SGLang, llama.cpp, commercial ones), as an engine.
//!
//! [`load`] asks the endpoint once and gives an [`Engine`](compass_plan::engine::Engine) that keeps many requests in flight.
//! How fast it may ask is decided in [`pace`], without a clock; what an answer means in [`answer`]; what is tried again in
//! [`asker`]. Every sample ends in a result: its score, or a failure whose class its reason begins with.

mod answer;
mod asker;
mod body;
mod context;
mod engine;
mod key;
mod pace;
mod probe;
mod refusal;
mod score;
mod stream;
mod work;

pub use engine::load;
