//! Against servers of the tests' own: what comes, what is asked for, and what is said when it does not come.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cache;
mod ceph;
mod hub;
mod s3;
