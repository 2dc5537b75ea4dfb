//! The command line, parsed into what the rest may trust.

use crate::agent::{AgentOptions, ProgramPolicy};
use crate::dial::Proxies;
use crate::engine_child::{EngineOptions, sees_gpu};
use crate::once::{OnceArgs, OnceOptions};
use crate::sandbox_command::{SandboxArgs, SandboxOptions};
use crate::slurm::SlurmTask;
use clap::{Args, Parser, Subcommand};
use compass_cli::Generated;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  One engine on the first GPU, or on the CPU where there is none:
    compass-worker --master head:50051
  One engine on the second GPU:
    compass-worker --master head:50051 --device cuda:1
  Four engines of two threads each, beside the master:
    compass-worker --master 127.0.0.1:50051 --device cpu --slots 4 --threads 2
  One worker on each of eight nodes, each with all the GPUs of its node:
    srun -N 8 --gres=gpu:8 compass-worker --master head:50051
  To a master of another home, with the token that it gave (its file, mode 600):
    compass-worker --master head:50051 --token-file token
  Whichever of two masters leads:
    compass-worker --master head1:50051,head2:50051
  Can this machine run programs that a model wrote?
    compass-worker sandbox --check
  What becomes of task 3 of a run, without a master?
    compass-worker --once --plan outputs/demo/20260102_030405 --task 3

Under Slurm each task of a step is a worker of its own, named after its job
and number, where the step binds GPUs to tasks (CUDA_VISIBLE_DEVICES is then a
part of SLURM_STEP_GPUS) or has none. Where all tasks of a node see the same
GPUs, the first one (SLURM_LOCALID=0) takes them all, with an engine for each,
and the others go home. A worker finishes in time for SLURM_JOB_END_TIME.

Stop it with Ctrl-C or SIGTERM: it finishes the samples that it has begun,
hands them in and goes. A second signal ends it at once. Nothing is lost
either way: what is not handed in, another worker does.

Exit codes:
  0         the master's work is done
  2         wrong usage
  3         no master answered for too long
  4         the master refused the worker; the last line says why
  130, 143  ended by SIGINT, SIGTERM";

/// Runs evaluation tasks for a compass-master.
#[derive(Debug, Parser)]
#[command(name = "compass-worker", version = compass_cli::version(), after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Cli {
    #[command(subcommand)]
    child: Option<ChildCommand>,
    #[command(flatten)]
    agent: Option<AgentArgs>,
    #[command(flatten)]
    once: OnceArgs,
}

#[derive(Debug, Subcommand)]
enum ChildCommand {
    /// The engine child that an agent starts; standard input is its end of a socket pair.
    #[command(hide = true)]
    Engine {
        #[arg(long, default_value = "1")]
        threads: NonZeroU32,
    },
    /// Shows what isolates programs written by a model on this machine, or runs one
    Sandbox(SandboxArgs),
    #[command(flatten)]
    Generated(Generated),
}

#[derive(Debug, Args)]
struct AgentArgs {
    /// Where the master listens; of several masters, all of them: whoever leads is found
    #[arg(long, value_name = "HOST:PORT,...", required_unless_present = "once", value_delimiter = ',')]
    master: Vec<MasterAddress>,
    /// The file with the join token that a master asks for [default: what a master of this home has left under
    /// ~/.local/state/compass/join]
    #[arg(long, value_name = "FILE", env = "COMPASS_TOKEN_FILE", value_parser = parse_file)]
    token_file: Option<PathBuf>,
    /// Reach the masters through this proxy: http://HOST:PORT or socks5://HOST:PORT [default: HTTPS_PROXY, ALL_PROXY and
    /// NO_PROXY, where user and password may stand too]
    #[arg(long, value_name = "URL", value_parser = parse_proxy)]
    proxy: Option<Proxies>,
    /// Where models run: auto takes the first GPU when there is one
    #[arg(long, value_name = "auto|cpu|cuda:N", default_value = "auto")]
    device: Device,
    /// Engines to run at once; each holds its own copy of the model [default: 1, or as many as Slurm gives it GPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: Option<u32>,
    /// The pool of the master's configuration that it works for
    #[arg(long, value_name = "NAME", env = "COMPASS_POOL", value_parser = parse_name)]
    pool: Option<String>,
    /// Name shown by the master, unique among its workers [default: <hostname>-<pid>, under Slurm the job's]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Threads within one engine
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroU32,
    /// Give up when no master has answered for so long, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    master_lost_timeout: Duration,
    /// Run no programs that a model wrote, and do not look for a sandbox
    #[arg(long, conflicts_with = "unsafe_local_exec")]
    no_sandbox: bool,
    /// Where no sandbox works, run programs that a model wrote as plain processes: they can do all that you can
    #[arg(long)]
    unsafe_local_exec: bool,
    /// End when standard input ends: the launcher holds its other end
    #[arg(long, hide = true)]
    exit_with_parent: bool,
    /// Speak without encryption and token to a master on loopback, which a test plays: no other master is so
    #[arg(long, hide = true)]
    plain_loopback: bool,
}

/// What this process is to be.
#[derive(Debug)]
pub enum Role {
    Agent(AgentOptions),
    Once(OnceOptions),
    Engine(EngineOptions),
    Sandbox(SandboxOptions),
    Generated(Generated),
}

impl Cli {
    /// What was asked for.
    pub fn role(self) -> Role {
        let agent = self.agent.as_ref();
        let device = agent.map_or("auto", |agent| agent.device.0.as_str()).to_owned();
        let threads = agent.map_or(1, |agent| agent.threads.get());
        let programs = agent.map_or(ProgramPolicy::Contained, AgentArgs::programs);
        if let Some(options) = self.once.options(device, threads, programs) {
            return Role::Once(options);
        }
        match (self.child, self.agent) {
            (Some(ChildCommand::Engine { threads }), _) => Role::Engine(EngineOptions { threads: threads.get() }),
            (Some(ChildCommand::Sandbox(args)), _) => Role::Sandbox(args.options()),
            (Some(ChildCommand::Generated(generated)), _) => Role::Generated(generated),
            (None, Some(args)) => Role::Agent(args.options()),
            // `--master` is required, so that clap has already answered a command line without it.
            (None, None) => clap::Command::new("compass-worker")
                .error(clap::error::ErrorKind::MissingRequiredArgument, "--master HOST:PORT is needed")
                .exit(),
        }
    }
}

impl AgentArgs {
    fn programs(&self) -> ProgramPolicy {
        match (self.no_sandbox, self.unsafe_local_exec) {
            (true, _) => ProgramPolicy::Never,
            (false, true) => ProgramPolicy::Unsafe,
            (false, false) => ProgramPolicy::Contained,
        }
    }

    fn options(self) -> AgentOptions {
        let slurm = SlurmTask::read(|name| std::env::var(name).ok());
        let programs = self.programs();
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        AgentOptions {
            masters: self.master.into_iter().map(|address| address.0).collect(),
            token_file: self.token_file.filter(|path| !path.as_os_str().is_empty()),
            proxies: self.proxy.unwrap_or_else(Proxies::of_environment),
            device: self.device.0,
            slots: self.slots.unwrap_or(slurm.slots),
            name: self.name.or(slurm.name).unwrap_or_else(|| format!("{node}-{}", std::process::id())),
            pool: self.pool.unwrap_or_default(),
            leaves_at: slurm.leaves_at,
            // Who says how many engines there are to be means this process.
            stands_back: slurm.stands_back.filter(|_| self.slots.is_none() && !self.exit_with_parent),
            threads: self.threads.get(),
            master_lost_timeout: self.master_lost_timeout,
            exit_with_parent: self.exit_with_parent,
            plain_loopback: self.plain_loopback,
            programs,
        }
    }
}

#[derive(Clone, Debug)]
struct MasterAddress(String);

impl FromStr for MasterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').ok_or("write host:port, such as head:50051")?;
        if host.is_empty() || host.contains('/') {
            return Err("write host:port without a scheme, such as head:50051".into());
        }
        if host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("a host's name holds no spaces; write host:port, such as head:50051".into());
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err("write an IPv6 address in brackets, such as [::1]:50051".into());
        }
        port.parse::<u16>().map_err(|_| format!("`{port}` is no port; write host:port, such as {host}:50051"))?;
        Ok(Self(text.to_owned()))
    }
}

#[derive(Clone, Debug)]
struct Device(String);

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("cuda:") && !sees_gpu() {
            return Err("this machine shows no NVIDIA GPU; write cpu, or auto".into());
        }
        let known = matches!(text, "auto" | "cpu");
        let ordinal = text.strip_prefix("cuda:").is_some_and(|ordinal| ordinal.parse::<u32>().is_ok());
        if known || ordinal {
            Ok(Self(text.to_owned()))
        } else {
            Err("write auto, cpu or cuda:N with the GPU's number, such as cuda:0".into())
        }
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.contains(char::is_control) || text.len() > 200 {
        return Err("write a name of 1 to 200 visible characters".into());
    }
    Ok(text.to_owned())
}

/// As any path, but that an empty variable of the environment is none.
fn parse_file(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

fn parse_proxy(text: &str) -> Result<Proxies, String> {
    Proxies::one(text).map_err(|error| error.to_string())
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and s, m or h, such as 90s, 10m or 2h".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    Ok(Duration::from_secs(count.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::partition::TaskName;

    fn agent(line: &str) -> Result<AgentOptions, String> {
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        match cli.role() {
            Role::Agent(options) => Ok(options),
            Role::Once(_) | Role::Engine(_) | Role::Sandbox(_) | Role::Generated(_) => Err("no agent".into()),
        }
    }

    #[test]
    fn a_bare_command_line_gets_the_defaults() {
        let options = agent("compass-worker --master head:50051").unwrap();
        assert_eq!(options.masters, ["head:50051"]);
        assert_eq!(agent("compass-worker --master a:1,[::1]:2").unwrap().masters, ["a:1", "[::1]:2"]);
        assert_eq!((options.slots, options.threads, options.device.as_str()), (1, 1, "auto"));
        assert_eq!(options.master_lost_timeout, Duration::from_secs(600));
        assert!(options.name.ends_with(&std::process::id().to_string()));
    }

    #[test]
    fn wrong_values_are_refused_with_what_to_write() {
        for (line, hint) in [
            ("compass-worker", "--master"),
            ("compass-worker --master a:1,b", "such as head:50051"),
            ("compass-worker --master a:1,,b:2", "such as head:50051"),
            ("compass-worker --master http://head:50051", "without a scheme"),
            ("compass-worker --master head", "head:50051"),
            ("compass-worker --master head:1 --device gpu", "cuda:0"),
            ("compass-worker --master ::1:1", "[::1]:50051"),
            ("compass-worker --master head:1 --slots 5000", "1..=1024"),
            ("compass-worker --master head:1 --name=", "visible characters"),
            ("compass-worker --master head:1 --slots 0", "--slots"),
            ("compass-worker --master head:1 --master-lost-timeout 10", "90s, 10m or 2h"),
        ] {
            let message = agent(line).unwrap_err();
            assert!(message.contains(hint), "{line}: {message}");
        }
    }

    #[test]
    fn one_task_needs_no_master() {
        let role =
            |line: &str| Cli::try_parse_from(line.split_whitespace()).map(Cli::role).map_err(|error| error.to_string());
        let once = role("compass-worker --once --plan out/run --task 3 --out r.jsonl --device cpu").unwrap();
        assert!(matches!(once, Role::Once(options) if options.task == TaskName::Number(3) && options.device == "cpu"));
        for (line, hint) in [
            ("compass-worker --once --plan out/run", "--task"),
            ("compass-worker --once --task 3", "--plan"),
            ("compass-worker --master a:1 --task 3", "--once"),
            ("compass-worker --once --plan out/run --task 3 --master a:1", "cannot be used with"),
            ("compass-worker --once --plan out/run --task x", "write its number"),
        ] {
            let message = role(line).unwrap_err();
            assert!(message.contains(hint), "{line}: {message}");
        }
    }

    #[test]
    fn the_engine_child_needs_no_master() {
        let cli = Cli::try_parse_from(["compass-worker", "engine", "--threads", "3"]).unwrap();
        assert!(matches!(cli.role(), Role::Engine(EngineOptions { threads: 3 })));
    }
}
