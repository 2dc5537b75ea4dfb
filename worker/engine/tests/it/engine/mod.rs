//! Integration tests of the engine: against independent oracles, against the peers' own results, against broken models.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod batch_invariance;
mod broken;
mod conversations;
mod decoding;
mod demo;
mod draws;
mod extremes;
mod layouts;
mod ll;
mod lm_eval_tasks;
mod oracle;
mod peers;
mod peers_texts;
mod rules;
mod same_as_lm_eval;
mod same_as_opencompass;
mod same_as_transformers;
mod shared_prefixes;
mod support;
mod swce;
mod thinking;
mod tied_head;
mod weights;
