//! Join token of a worker: the master to trust, and a word that this master knows.
//!
//! `compass-1.<id>.<secret>.<authority>`: the id names the token in lists, the secret proves that the worker was invited, and the digest
//! of the masters' authority lets the worker recognise them before it sends the secret to anybody.

use compass_types::ids::Digest;
use compass_types::secret::Secret;
use std::path::Path;

const KIND: &str = "compass-1";
/// Longest id and secret: what is longer came from elsewhere.
const LONGEST: usize = 200;

/// Token with which a worker joins: the master to trust, and a secret that this master knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinToken {
    pub id: String,
    pub secret: Secret,
    /// Digest of the authority's certificate, DER.
    pub authority: Digest,
}

/// Reason why a text is not a token; messages never contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("it is empty")]
    Empty,
    #[error("it holds no join token: a line that begins with `compass-1.`")]
    Foreign,
    #[error("it holds a join token that is cut short or damaged")]
    Damaged,
}

impl JoinToken {
    /// The line that carries it.
    pub fn to_line(&self) -> Secret {
        Secret::new(format!("{KIND}.{}.{}.{}", self.id, self.secret.expose(), self.authority))
    }

    /// Reads the first line that is not empty.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).ok_or(TokenError::Empty)?;
        let mut pieces = line.split('.');
        if pieces.next() != Some(KIND) {
            return Err(TokenError::Foreign);
        }
        let mut word = || {
            let piece = pieces.next()?;
            let plain = piece.bytes().all(|byte| byte.is_ascii_alphanumeric());
            (plain && !piece.is_empty() && piece.len() <= LONGEST).then_some(piece)
        };
        let (id, secret, authority) = (word(), word(), word().and_then(Digest::parse));
        match (id, secret, authority, pieces.next()) {
            (Some(id), Some(secret), Some(authority), None) => {
                Ok(Self { id: id.into(), secret: Secret::new(secret), authority })
            }
            _ => Err(TokenError::Damaged),
        }
    }
}

/// The name of the file with a master's token in a folder of tokens: `<host>_<port>`.
pub fn file_name(host: &str, port: u16) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    let host: String = host.trim_matches(['[', ']']).chars().map(plain).collect();
    format!("{host}_{port}")
}

/// Returns the name that replaces a loopback address in the name of a token's file: a home that several hosts share has one
/// `127.0.0.1`, and each of them a master there.
pub fn loopback_name(node: &str) -> String {
    format!("loopback-{node}")
}

/// Returns whether a host, as people write it, is this very one.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The folder of these files below a state folder.
pub fn folder(state: &Path) -> std::path::PathBuf {
    state.join("join")
}

/// A state folder's default place below a home directory.
pub const DEFAULT_STATE: &str = ".local/state/compass";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_line() {
        let token = JoinToken { id: "4f2a".into(), secret: Secret::new("abc123"), authority: Digest::of(b"ca") };
        let line = token.to_line();
        assert_eq!(JoinToken::parse(&format!("\n  {}  \n", line.expose())), Ok(token.clone()));
        assert!(!format!("{token:?}").contains("abc123"));
    }

    #[test]
    fn what_is_no_token_is_told_apart() {
        let authority = Digest::of(b"ca");
        for (text, error) in [
            (String::new(), TokenError::Empty),
            ("hunter2".into(), TokenError::Foreign),
            ("compass-1.id.secret".into(), TokenError::Damaged),
            ("compass-1.id.secret.beef".into(), TokenError::Damaged),
            (format!("compass-1.id..{authority}"), TokenError::Damaged),
            (format!("compass-1.id.se cret.{authority}"), TokenError::Damaged),
            (format!("compass-1.id.secret.{authority}.more"), TokenError::Damaged),
        ] {
            assert_eq!(JoinToken::parse(&text), Err(error), "{text}");
        }
    }

    #[test]
    fn file_names_hold_no_separators() {
        assert_eq!(file_name("head", 50051), "head_50051");
        assert_eq!(file_name("[::1]", 1), "__1_1");
        assert_eq!(file_name("../x", 1), ".._x_1");
    }
}
