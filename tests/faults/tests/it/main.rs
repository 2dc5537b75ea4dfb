//! The real agent with real engine children, the echo engine, and a fake master controlled by the test.

#![warn(clippy::disallowed_methods)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its fixtures too"
)]

mod ending;
mod session;
mod support;
