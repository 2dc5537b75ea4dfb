//! Reasons why a worker is not admitted: one sentence, the same on the master's screen and in the worker's log.

/// Reason for which a worker is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it brought no join token; {ASK}")]
    NoToken,
    /// Also for a wrong secret: the peer does not learn which of the two it was.
    #[error("its join token is not known here; {ASK}")]
    Unknown,
    #[error("its join token {id} has expired; {ASK}")]
    Expired { id: String },
    #[error("its join token {id} was revoked")]
    Revoked { id: String },
    #[error("its join token {id} is spent: as many workers have joined with it as it has uses, {uses}; {ASK}")]
    Spent { id: String, uses: u32 },
    #[error(
        "its join token {id} is for workers of pool {pool}, and it says that it works for pool {said}; start it with \
         --pool {pool}, or give it a token of pool {said} (`compass-master token create --pool {said}`{PLACE})"
    )]
    OtherPool { id: String, pool: String, said: String },
    #[error("the worker {worker} was barred with `compass-master token revoke --worker`")]
    Barred { worker: String },
}

const ASK: &str = "get one with `compass-master token create` (on the master's host, with the --config that it was \
                   started with)";
const PLACE: &str = ", on the master's host, with the --config that it was started with";
