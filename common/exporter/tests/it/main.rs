//! Rows and configurations from an interpreter, with a Python whose OpenCompass is a stand-in that each test writes; and from
//! the real one, where `COMPASS_OPENCOMPASS_PYTHON` names its interpreter.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod configuration;
mod contained;
mod faults;
mod kept;
mod real;
mod rows;
mod site;
