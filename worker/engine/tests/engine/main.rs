//! Integration tests of the engine: against independent oracles, against the peers' own results, against broken models.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod broken;
mod demo;
mod neighbours;
mod oracle;
mod peers;
mod rules;
mod same_as_lm_eval;
mod same_as_opencompass;
mod same_as_transformers;
mod support;
