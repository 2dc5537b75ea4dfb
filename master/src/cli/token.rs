//! `compass-master token`: which workers may join.

use super::number::within;
use clap::{Args, Subcommand};
use compass_types::duration::{DURATION_HELP, parse_long_duration};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  compass-master token create --pool aliyun --ttl 24h --uses 100 --out aliyun.token
                                  for 100 workers within a day; carry the file to them, mode 600:
  compass-worker --master head:50051 --token-file aliyun.token
  compass-master token list
  compass-master token revoke 4f2a9c01
                                  ends the token and every worker that joined with it
  compass-master token revoke --worker gpu7-1234

Masters that share a store (etcd) share their tokens; name its configuration with --config.";

/// Arguments of `compass-master token`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TokenArguments {
    #[command(subcommand)]
    pub action: TokenAction,
    /// The configuration whose [master] says where the authority lies [default: this user's state folder]
    #[arg(long, short = 'c', value_name = "FILE", global = true, conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// The state_dir of the masters itself, where no configuration names it
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenAction {
    /// Make a token, and print its line: a worker that presents it may join
    Create {
        /// Name of the pool that these workers work for
        #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
        pool: String,
        /// How long workers may join with it, such as 90s, 10m, 24h or 7d; those that have joined stay
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time_above_zero)]
        ttl: Duration,
        /// How many workers may join with it
        #[arg(long, value_name = "N", default_value = "100", value_parser = within::<1, 100_000>)]
        uses: u32,
        /// Write the line into this file, for its owner alone, instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// List the tokens, never their secrets; those of masters that have ended are only counted
    List {
        /// Also those of masters that have ended
        #[arg(long)]
        all: bool,
        /// Print all of them as JSON
        #[arg(long)]
        json: bool,
    },
    /// End a token and every certificate that it brought, or bar a worker by name
    Revoke {
        /// The token, as the list names it
        #[arg(required_unless_present = "worker", conflicts_with = "worker")]
        id: Option<String>,
        /// The worker, by its name, whatever token it has
        #[arg(long, value_name = "NAME")]
        worker: Option<String>,
        /// Let a barred worker join again
        #[arg(long, requires = "worker")]
        undo: bool,
    },
}

/// A time above 0, for the command line.
pub(super) fn time_above_zero(text: &str) -> Result<Duration, String> {
    let time = parse_long_duration(text).filter(|time| !time.is_zero());
    time.ok_or_else(|| DURATION_HELP.to_owned())
}
