//! The way to a master: through a proxy or not, encrypted or not, with an invitation turned into a certificate.
//!
//! A worker dials and is never dialled. What lies behind an open way (the session, bulk) is `agent`'s.

mod door;
mod enrolment;
mod identity;
mod invitation;
mod proxies;
mod trust;

pub use compass_agent::Shut;
pub(crate) use door::error_chain;
pub use door::{Applicant, Door, Doorway};
pub use invitation::Invitations;
pub use proxies::{Proxies, ProxyError};
