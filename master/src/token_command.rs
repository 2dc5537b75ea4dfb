//! Runs `compass-master token`: makes, lists and revokes join tokens in the authority that the configuration names.

pub use super::cli::token::{TokenAction, TokenArguments};
use compass_authority::{Authority, AuthorityError, Register, TokenRecord, TokenState, TokenTerms, now};
use compass_common::words::counted;
use compass_config::{load_authority, load_base};
use compass_diagnostic::Diagnostics;
use compass_settings::{AuthorityConfig, PoolConfig};
use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Reason why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum TokenCommandError {
    #[error(transparent)]
    Config(#[from] Diagnostics),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("no token {id}; `compass-master token list` shows them")]
    Unknown { id: String },
    #[error("the worker {worker} is not barred")]
    NotBarred { worker: String },
    #[error("this configuration has no pool {pool}, and would refuse its workers; it has {known}")]
    NoPool { pool: String, known: String },
    #[error("{} defines no pools, and its master would not know the pool {pool}; leave --pool out, or define the pool there", path.display())]
    NoPools { pool: String, path: PathBuf },
    #[error("cannot write the token to {path}")]
    Out {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl TokenCommandError {
    /// Returns whether what was typed is to blame.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::NoPool { .. }
            | Self::NoPools { .. }
            | Self::Config(_)
            | Self::Unknown { .. }
            | Self::NotBarred { .. }
            | Self::Out { .. } => true,
            Self::Authority(AuthorityError::Store(error)) => error.is_bad_input(),
            Self::Authority(AuthorityError::Vault(_)) => true,
            Self::Authority(_) => false,
        }
    }
}

/// Output to print: data, and words about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TokenOutput {
    pub stdout: String,
    pub stderr: String,
}

/// Checks that the master will know the pool: else its workers would be refused, one by one, on nodes that were waited for. Without a
/// file any name will do: the master's file is not known.
fn has_pool(pools: &[PoolConfig], pool: &str, config: Option<&Path>) -> Result<(), TokenCommandError> {
    match config {
        _ if pools.iter().any(|known| known.name == pool) => Ok(()),
        Some(path) if pools.is_empty() => Err(TokenCommandError::NoPools { pool: pool.into(), path: path.into() }),
        None if pools.is_empty() => Ok(()),
        _ => {
            let names: Vec<&str> = pools.iter().map(|known| known.name.as_str()).collect();
            Err(TokenCommandError::NoPool { pool: pool.into(), known: names.join(", ") })
        }
    }
}

/// Does what was asked for. `home` is where `~` is.
///
/// # Errors
/// See [`TokenCommandError`].
pub async fn run(arguments: &TokenArguments, home: Option<PathBuf>) -> Result<TokenOutput, TokenCommandError> {
    let base = load_base(arguments.config.as_deref(), home.clone());
    let mut config: AuthorityConfig = load_authority(arguments.config.as_deref(), home)?;
    if let Some(folder) = &arguments.state_dir {
        config = in_folder(config, folder);
    }
    if let TokenAction::Create { pool, .. } = &arguments.action
        && !pool.is_empty()
    {
        // Of a file that cannot be read it is not known which pools it has.
        has_pool(&base?.0.pools, pool, arguments.config.as_deref())?;
    }
    let authority = Authority::open(&config).await?;
    match &arguments.action {
        TokenAction::Create { pool, ttl, uses, out } => {
            let expires = now().saturating_add(ttl.as_secs());
            let terms = TokenTerms { pool: pool.clone(), expires, uses: Some(*uses), note: String::new() };
            // A file that cannot be written must not cost a token that was never printed.
            let file = out.as_deref().map(|path| (path, open_private(path)));
            let file = file.map(|(path, file)| file.map(|file| (path, file)).map_err(|source| failed(path, source)));
            let file = file.transpose()?;
            let token = authority.create_token(terms).await?;
            let line = format!("{}\n", token.to_line().expose());
            let words = format!(
                "token {}: {} may join until {}{}\n",
                token.id,
                counted(*uses, "worker"),
                when(expires),
                if pool.is_empty() { String::new() } else { format!(", in pool {pool}") }
            );
            Ok(match file {
                Some((path, mut file)) => {
                    file.write_all(line.as_bytes())
                        .and_then(|()| file.sync_all())
                        .map_err(|error| failed(path, error))?;
                    TokenOutput { stdout: String::new(), stderr: format!("{words}written to {}\n", path.display()) }
                }
                None => TokenOutput { stdout: line, stderr: words },
            })
        }
        TokenAction::List { all, json } => {
            let register = authority.register();
            let stdout = if *json { as_json(&register, now()) } else { as_table(&register, *all, now()) };
            Ok(TokenOutput { stdout, ..TokenOutput::default() })
        }
        TokenAction::Revoke { worker: Some(worker), undo: true, .. } => match authority.unbar(worker).await? {
            true => Ok(told(format!("the worker {worker} may join again\n"))),
            false => Err(TokenCommandError::NotBarred { worker: worker.clone() }),
        },
        TokenAction::Revoke { worker: Some(worker), .. } => {
            authority.bar(worker).await?;
            Ok(told(format!("the worker {worker} is barred; masters that run notice within seconds\n")))
        }
        TokenAction::Revoke { id, .. } => {
            let id = id.clone().unwrap_or_default();
            match authority.revoke(&id).await? {
                true => {
                    Ok(told(format!("token {id} is revoked; masters that run send its workers away within seconds\n")))
                }
                false => Err(TokenCommandError::Unknown { id }),
            }
        }
    }
}

/// The authority whose files lie in the state folder `folder`.
fn in_folder(config: AuthorityConfig, folder: &Path) -> AuthorityConfig {
    let state_dir = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let key_file = state_dir.join(config.key_file.file_name().unwrap_or_default());
    AuthorityConfig { state_dir, key_file, ..config }
}

fn told(stderr: String) -> TokenOutput {
    TokenOutput { stderr, ..TokenOutput::default() }
}

fn failed(path: &Path, source: io::Error) -> TokenCommandError {
    TokenCommandError::Out { path: path.to_owned(), source }
}

fn open_private(path: &Path) -> io::Result<std::fs::File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

fn when(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let local = time.map(|time| time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    local.unwrap_or_else(|| "never".into())
}

fn word(state: TokenState) -> &'static str {
    match state {
        TokenState::Valid => "valid",
        TokenState::Expired => "expired",
        TokenState::Spent => "spent",
        TokenState::Revoked => "revoked",
    }
}

fn uses(token: &TokenRecord) -> String {
    token.uses.map_or_else(|| "any".to_owned(), |uses| uses.to_string())
}

fn as_table(register: &Register, all: bool, now: u64) -> String {
    // A master makes itself one for each of its runs, and ends it with the run.
    let is_over = |token: &&TokenRecord| !token.note.is_empty() && token.state(now) == TokenState::Expired;
    let over = register.tokens().iter().filter(is_over).count();
    let shown = register.tokens().iter().filter(|token| all || !is_over(token));
    let mut rows = vec![["token", "pool", "state", "joined", "of", "until", "made by"].map(str::to_owned)];
    rows.extend(shown.map(|token| {
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let state = word(token.state(now)).to_owned();
        let (used, made) =
            (token.used.to_string(), if token.note.is_empty() { "hand" } else { &token.note }.to_owned());
        [token.id.clone(), dash(&token.pool), state, used, uses(token), when(token.expires), made]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    if over > 0 && !all {
        let _ = writeln!(text, "and {over} of masters that have ended (--all)");
    }
    for worker in register.barred() {
        let _ = writeln!(text, "barred: {worker}");
    }
    text
}

fn as_json(register: &Register, now: u64) -> String {
    let tokens = register.tokens().iter().map(|token| {
        serde_json::json!({
            "id": token.id, "pool": token.pool, "state": word(token.state(now)), "joined": token.used,
            "uses": token.uses, "expires": token.expires, "made_by": token.note,
        })
    });
    let all = serde_json::json!({ "tokens": tokens.collect::<Vec<_>>(), "barred": register.barred() });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_of_a_pool_needs_a_file_that_defines_pools() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("serve.toml");
        std::fs::write(&path, "[master]\n").unwrap();
        let create = |config: Option<PathBuf>, pool: &str| TokenArguments {
            action: TokenAction::Create {
                pool: pool.into(),
                ttl: std::time::Duration::from_secs(60),
                uses: 1,
                out: None,
            },
            config,
            state_dir: None,
        };
        let run = async |arguments: TokenArguments| run(&arguments, Some(home.path().to_owned())).await;
        let refused = run(create(Some(path.clone()), "gold")).await.unwrap_err();
        assert!(refused.is_bad_input());
        assert!(refused.to_string().starts_with(&format!("{} defines no pools", path.display())), "{refused}");
        assert!(run(create(Some(path), "")).await.is_ok());
        assert!(run(create(None, "gold")).await.is_ok(), "of a master without a file nothing is known");
        let folder = home.path().join("elsewhere");
        let named = TokenArguments { state_dir: Some(folder.clone()), ..create(None, "") };
        assert!(run(named).await.is_ok());
        assert!(folder.join("authority.key").is_file(), "the state folder that is named is used");
    }
}
