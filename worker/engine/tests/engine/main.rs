//! Integration tests of the engine: against independent oracles, against the peers' own results, against broken models.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod broken;
mod conversations;
mod demo;
mod draws;
mod extremes;
mod layouts;
mod ll;
mod lm_eval_tasks;
mod neighbours;
mod oracle;
mod peers;
mod peers_texts;
mod prefixes;
mod rules;
mod same_as_lm_eval;
mod same_as_opencompass;
mod same_as_transformers;
mod support;
mod weights;
