//! Admission to work for the masters: one authority per store, its join tokens, and the certificates that it issues.
//!
//! `register` is its state, pure; `vault` seals that before it leaves this process; `certificates` makes and reads
//! certificates; `authority` connects them with a value in the store that all masters share.

mod authority;
mod certificates;
mod join_file;
mod refusal;
mod register;
mod vault;

pub use authority::now;
pub use authority::{Authority, AuthorityError};
pub use certificates::{CertificateError, CertificateIdentity, Credentials, SERVER_NAME, Verification};
pub use join_file::{JoinFile, JoinFileError};
pub use refusal::Refusal;
pub use register::{EnrolmentRequest, Register, TokenRecord, TokenState, TokenTerms};
pub use vault::{Vault, VaultError};
