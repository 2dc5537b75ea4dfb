//! State of the authority: its own key, the tokens with their uses, barred workers. Pure; times are seconds since 1970.
//!
//! A token admits; the certificate that it brought is valid until it expires or is revoked with the token. A use is counted
//! by the worker's key, so that a worker whose answer got lost asks again without another use.

use super::refusal::Refusal;
use compass_types::ids::Digest;
use compass_types::secret::Secret;
use serde::{Deserialize, Serialize};

/// Time after which unusable tokens are forgotten: by then their certificates have expired.
const FORGET_SECONDS: u64 = 30 * 24 * 3_600;

/// Number of unusable tokens that are kept at most, since the register is one value in the store: every run has its own token.
/// A worker that joined with a forgotten one is asked to join again.
const MOST_OVER: usize = 1000;

/// Keys, tokens with their uses, and barred workers of an authority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Register {
    format: u32,
    pub(super) authority: KeptAuthority,
    tokens: Vec<TokenRecord>,
    /// Names of workers that may not join, whatever they present.
    barred: Vec<String>,
}

/// The authority's certificate and key, DER.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptAuthority {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
}

impl std::fmt::Debug for KeptAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeptAuthority(..)")
    }
}

/// Terms of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTerms {
    /// The pool whose workers present it; empty for none in particular.
    pub pool: String,
    /// Time until which workers may join with it.
    pub expires: u64,
    /// Number of workers that may; `None` for any number.
    pub uses: Option<u32>,
    /// User for whom a master made it, for lists.
    pub note: String,
}

/// A worker that asks to join.
#[derive(Clone, Copy, Debug)]
pub struct EnrolmentRequest<'a> {
    /// Its name.
    pub worker: &'a str,
    /// The pool that it claims to work for; empty for the token's pool.
    pub pool: &'a str,
}

/// A token as it is kept: everything but its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenRecord {
    pub id: String,
    secret: Digest,
    pub pool: String,
    pub note: String,
    pub expires: u64,
    pub uses: Option<u32>,
    pub used: u32,
    /// Keys that have joined, shortened; only where uses are counted.
    joined: Vec<String>,
    pub revoked: Option<u64>,
}

/// Validity of a token for new workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    Valid,
    Expired,
    Spent,
    Revoked,
}

impl TokenRecord {
    /// Returns whether it still admits.
    pub fn state(&self, now: u64) -> TokenState {
        match self {
            Self { revoked: Some(_), .. } => TokenState::Revoked,
            Self { expires, .. } if now >= *expires => TokenState::Expired,
            Self { uses: Some(uses), used, .. } if used >= uses => TokenState::Spent,
            _ => TokenState::Valid,
        }
    }

    /// Checks that its workers may work for this pool; they need not name one, and a token without a pool serves all.
    fn serves(&self, pool: &str) -> Result<(), Refusal> {
        match self.pool.is_empty() || pool.is_empty() || self.pool == pool {
            true => Ok(()),
            false => Err(Refusal::OtherPool { id: self.id.clone(), pool: self.pool.clone(), said: pool.to_owned() }),
        }
    }

    /// Time since which it admits no new worker, if it does not.
    fn over_since(&self, now: u64) -> Option<u64> {
        Some(self.revoked.unwrap_or(u64::MAX).min(self.expires)).filter(|over| now >= *over)
    }

    fn is_forgotten(&self, now: u64) -> bool {
        self.over_since(now).is_some_and(|over| now >= over.saturating_add(FORGET_SECONDS))
    }
}

impl Register {
    pub(super) const FORMAT: u32 = 1;

    pub(super) fn new(authority: KeptAuthority) -> Self {
        Self { format: Self::FORMAT, authority, tokens: Vec::new(), barred: Vec::new() }
    }

    /// Returns whether this version can read it.
    pub(super) fn is_known(&self) -> bool {
        self.format == Self::FORMAT
    }

    /// The tokens, oldest first.
    pub fn tokens(&self) -> &[TokenRecord] {
        &self.tokens
    }

    /// Workers that are barred by name.
    pub fn barred(&self) -> &[String] {
        &self.barred
    }

    /// Makes a token of this secret; long unusable tokens are forgotten.
    pub fn create(&mut self, id: String, secret: &Secret, terms: TokenTerms, now: u64) {
        self.forget(now);
        let TokenTerms { pool, expires, uses, note } = terms;
        let secret = Digest::of(secret.expose().as_bytes());
        let (used, joined, revoked) = (0, Vec::new(), None);
        self.tokens.push(TokenRecord { id, secret, pool, note, expires, uses, used, joined, revoked });
    }

    fn forget(&mut self, now: u64) {
        self.tokens.retain(|token| !token.is_forgotten(now));
        let mut over: Vec<u64> = self.tokens.iter().filter_map(|token| token.over_since(now)).collect();
        let surplus = over.len().saturating_sub(MOST_OVER);
        over.sort_unstable();
        // The tokens that have been over for the longest, and all that ended with the last of them.
        let Some(last) = surplus.checked_sub(1).and_then(|last| over.get(last)) else { return };
        self.tokens.retain(|token| token.over_since(now).is_none_or(|over| over > *last));
    }

    /// Counts the use of a token by the worker with this key.
    ///
    /// # Errors
    /// The reason why it is not admitted; nothing was counted.
    pub fn join(
        &mut self,
        id: &str,
        secret: &Secret,
        EnrolmentRequest { worker, pool }: EnrolmentRequest<'_>,
        key: &Digest,
        now: u64,
    ) -> Result<(), Refusal> {
        if id.is_empty() {
            return Err(Refusal::NoToken);
        }
        let borne = Digest::of(secret.expose().as_bytes());
        // Digests are compared: the time that this takes reveals nothing about the secret.
        let known = self.tokens.iter_mut().find(|token| token.id == id && token.secret == borne);
        let token = known.ok_or(Refusal::Unknown)?;
        if self.barred.iter().any(|barred| barred == worker) {
            return Err(Refusal::Barred { worker: worker.to_owned() });
        }
        token.serves(pool)?;
        let (id, key) = (id.to_owned(), key.short());
        let again = token.joined.contains(&key);
        match (token.state(now), token.uses) {
            (TokenState::Revoked, _) => return Err(Refusal::Revoked { id }),
            (TokenState::Expired, _) => return Err(Refusal::Expired { id }),
            (TokenState::Spent, Some(uses)) if !again => return Err(Refusal::Spent { id, uses }),
            _ => {}
        }
        if !again {
            token.used = token.used.saturating_add(1);
            if token.uses.is_some() {
                token.joined.push(key);
            }
        }
        Ok(())
    }

    /// Checks that the identity of a certificate that this token brought may still work.
    ///
    /// # Errors
    /// The reason why it may not.
    pub fn admits(&self, token: &str, worker: &str) -> Result<(), Refusal> {
        if self.barred.iter().any(|barred| barred == worker) {
            return Err(Refusal::Barred { worker: worker.to_owned() });
        }
        match self.tokens.iter().find(|known| known.id == token) {
            None => Err(Refusal::Unknown),
            Some(known) if known.revoked.is_some() => Err(Refusal::Revoked { id: token.to_owned() }),
            Some(_) => Ok(()),
        }
    }

    /// Returns the pool of a worker that joined with this token and claims to work for `said`: the token's pool, if it has one.
    /// Empty without one.
    ///
    /// # Errors
    /// The token is for another pool.
    pub fn pool_of(&self, token: &str, said: &str) -> Result<String, Refusal> {
        let known = self.tokens.iter().find(|known| known.id == token).ok_or(Refusal::Unknown)?;
        known.serves(said)?;
        Ok(if said.is_empty() { known.pool.clone() } else { said.to_owned() })
    }

    /// Ends a token and every certificate that it brought; `false` if no token has this id.
    pub fn revoke(&mut self, id: &str, now: u64) -> bool {
        let known = self.tokens.iter_mut().find(|token| token.id == id);
        known.map(|token| token.revoked.get_or_insert(now)).is_some()
    }

    /// Changes until when workers may join with a token. Certificates that it brought stay.
    pub fn prolong(&mut self, id: &str, expires: u64) {
        if let Some(token) = self.tokens.iter_mut().find(|token| token.id == id) {
            token.expires = expires;
        }
    }

    /// Bars a worker by name.
    pub fn bar(&mut self, worker: &str) {
        if !self.barred.iter().any(|barred| barred == worker) {
            self.barred.push(worker.to_owned());
        }
    }

    /// Lets a worker of this name join again; false when it was not barred.
    pub fn unbar(&mut self, worker: &str) -> bool {
        let before = self.barred.len();
        self.barred.retain(|barred| barred != worker);
        self.barred.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn register(uses: Option<u32>) -> (Register, Secret) {
        let mut register = Register::new(KeptAuthority { certificate: vec![1], key: vec![2] });
        let secret = Secret::new("word");
        let terms = TokenTerms { pool: "aliyun".into(), expires: 100, uses, note: String::new() };
        register.create("t".into(), &secret, terms, 0);
        (register, secret)
    }

    const W: EnrolmentRequest<'_> = EnrolmentRequest { worker: "w", pool: "" };

    fn key(n: u32) -> Digest {
        Digest::of(&n.to_le_bytes())
    }

    #[test]
    fn a_token_admits_as_many_keys_as_it_has_uses_and_each_again() {
        let (mut register, secret) = register(Some(2));
        for n in [1, 2, 1, 2] {
            assert_eq!(register.join("t", &secret, W, &key(n), 5), Ok(()));
        }
        assert_eq!(register.join("t", &secret, W, &key(3), 5), Err(Refusal::Spent { id: "t".into(), uses: 2 }));
        assert_eq!(register.tokens()[0].used, 2);
    }

    #[test]
    fn a_token_of_a_pool_admits_to_that_pool_alone() {
        let (mut register, secret) = register(Some(9));
        let says = |pool| EnrolmentRequest { worker: "w", pool };
        let other = Refusal::OtherPool { id: "t".into(), pool: "aliyun".into(), said: "s".into() };
        assert_eq!(register.join("t", &secret, says("s"), &key(1), 5), Err(other.clone()));
        assert_eq!(register.tokens()[0].used, 0, "a refused use is none");
        for (n, pool) in [(1, "aliyun"), (2, "")] {
            assert_eq!(register.join("t", &secret, says(pool), &key(n), 5), Ok(()));
            assert_eq!(register.pool_of("t", pool), Ok("aliyun".into()), "who names none has the token's");
        }
        // Nor may it say another later.
        assert_eq!(register.pool_of("t", "s"), Err(other));
        assert_eq!(register.pool_of("x", ""), Err(Refusal::Unknown));
        let terms = TokenTerms { pool: String::new(), expires: 100, uses: None, note: String::new() };
        register.create("any".into(), &secret, terms, 0);
        assert_eq!(register.join("any", &secret, says("s"), &key(1), 5), Ok(()));
        assert_eq!((register.pool_of("any", "s"), register.pool_of("any", "")), (Ok("s".into()), Ok(String::new())));
    }

    #[test]
    fn each_reason_is_told() {
        let (mut register, secret) = register(None);
        let join = |register: &mut Register, id: &str, word: &str, now| {
            register.join(id, &Secret::new(word), W, &key(1), now).unwrap_err().to_string()
        };
        assert!(join(&mut register, "", "", 1).starts_with("it brought no join token"));
        assert!(join(&mut register, "t", "wrong", 1).starts_with("its join token is not known here"));
        assert!(join(&mut register, "x", "word", 1).starts_with("its join token is not known here"));
        assert!(join(&mut register, "t", "word", 100).starts_with("its join token t has expired"));
        assert_eq!(register.join("t", &secret, W, &key(1), 99), Ok(()));
        assert_eq!(register.admits("t", "w"), Ok(()));
        register.prolong("t", 50);
        assert_eq!(register.admits("t", "w"), Ok(()), "certificates outlive the token that brought them");
        register.bar("w");
        assert_eq!(register.admits("t", "w"), Err(Refusal::Barred { worker: "w".into() }));
        assert!(register.unbar("w") && !register.unbar("w"));
        assert!(register.revoke("t", 7) && !register.revoke("x", 7));
        assert_eq!(register.admits("t", "w"), Err(Refusal::Revoked { id: "t".into() }));
        assert!(join(&mut register, "t", "word", 8).ends_with("was revoked"));
        assert_eq!(register.admits("x", "w"), Err(Refusal::Unknown));
    }

    #[test]
    fn what_is_long_over_is_forgotten() {
        let (mut register, secret) = register(None);
        let terms = TokenTerms { pool: String::new(), expires: u64::MAX, uses: None, note: String::new() };
        register.create("u".into(), &secret, terms.clone(), 99 + FORGET_SECONDS);
        assert_eq!(register.tokens().len(), 2);
        register.create("v".into(), &secret, terms, 100 + FORGET_SECONDS);
        assert_eq!(register.tokens().iter().map(|token| token.id.as_str()).collect::<Vec<_>>(), ["u", "v"]);
    }

    #[test]
    fn of_those_that_are_over_no_more_are_kept_than_fit() {
        let (mut register, secret) = register(None);
        let terms = |expires| TokenTerms { pool: String::new(), expires, uses: None, note: String::new() };
        for run in 0..3 * MOST_OVER as u64 {
            register.create(format!("run {run}"), &secret, terms(1000 + run), 1000 + run);
        }
        let ids: Vec<&str> = register.tokens().iter().map(|token| token.id.as_str()).collect();
        assert_eq!(ids.len(), MOST_OVER + 1, "and the one that was made last");
        assert_eq!(ids[0], format!("run {}", 2 * MOST_OVER - 1));
        register.create("valid".into(), &secret, terms(u64::MAX), 9000);
        register.create("another".into(), &secret, terms(u64::MAX), 9000);
        assert_eq!(register.tokens().len(), MOST_OVER + 2, "those that admit are not counted");
    }

    #[test]
    fn it_shows_no_secrets() {
        let (register, _) = register(None);
        assert!(!format!("{register:?}").contains("key: ["));
        let json = serde_json::to_string(&register).unwrap();
        assert!(!json.contains("\"word\""), "{json}");
        let back: Register = serde_json::from_str(&json).unwrap();
        assert!(back.is_known() && back.tokens().len() == 1);
    }

    proptest! {
        /// However joins, retries and time come: never more keys than uses, and a key that was admitted is admitted again
        /// until the token ends.
        #[test]
        fn uses_hold(uses in 1_u32..5, tries in prop::collection::vec((0_u32..8, 0_u64..200), 1..60)) {
            let (mut register, secret) = register(Some(uses));
            let mut admitted = std::collections::BTreeSet::new();
            for (n, now) in tries {
                match register.join("t", &secret, W, &key(n), now) {
                    Ok(()) => { admitted.insert(n); prop_assert!(now < 100); }
                    Err(Refusal::Expired { .. }) => prop_assert!(now >= 100),
                    Err(Refusal::Spent { .. }) => {
                        prop_assert!(!admitted.contains(&n));
                        prop_assert_eq!(admitted.len() as u32, uses);
                    }
                    Err(other) => prop_assert!(false, "{}", other),
                }
                prop_assert!(admitted.len() as u32 <= uses);
                prop_assert_eq!(register.tokens()[0].used, admitted.len() as u32);
            }
        }
    }
}
