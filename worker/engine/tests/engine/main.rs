//! Integration tests of the engine: against independent oracles, against the peers' own results, against broken models.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod broken;
mod demo;
mod layouts;
mod neighbours;
mod oracle;
mod peers;
mod rules;
mod support;
