//! The command line, parsed into validated options.

use crate::agent::{AgentOptions, ProgramPolicy};
use crate::dial::Proxies;
use crate::duration::parse_duration;
use crate::engine_child::EngineOptions;
use crate::gpu_check::{GpuCheckArgs, GpuCheckOptions};
use crate::once::{OnceArgs, OnceOptions};
use crate::sandbox_command::{SandboxArgs, SandboxOptions};
use crate::serve_openai::{ServeArgs, ServeOptions};
use crate::slurm::SlurmTask;
use clap::{Args, Parser, Subcommand};
use compass_cli::Generated;
use compass_common::gpu_files::GpuFiles;
use compass_storage::StorageArguments;
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
  A master of another home, with its join token (a file of mode 600):
    compass-worker --master head:50051 --token-file token
  Two masters, one of which leads:
    compass-worker --master head1:50051,head2:50051
  Test whether this machine can run model-written programs:
    compass-worker sandbox --check
  Measure the first GPU, and the engine on it:
    compass-worker gpu-check
  Put a model behind OpenAI's protocol:
    compass-worker serve-openai --model models/llama-3-8b
  Run task 3 of a run without a master:
    compass-worker --once --plan outputs/demo/20260102_030405 --task 3

Under Slurm each task of a step is a worker, named after its job and number,
if the step binds GPUs to tasks (CUDA_VISIBLE_DEVICES is then a part of
SLURM_STEP_GPUS) or has none. If all tasks of a node see the same GPUs, the
first one (SLURM_LOCALID=0) uses all of them, with an engine for each, and the
others exit. A worker finishes in time for SLURM_JOB_END_TIME.

Stop it with Ctrl-C or SIGTERM: it finishes the samples that have started,
sends their results and exits. A second signal ends it at once. Either way
nothing is lost: another worker runs the samples without a result.

Exit codes:
  0         the master's work is done
  2         wrong usage
  3         no master answered in time
  4         the master rejected the worker; the last line says why
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
    #[command(flatten)]
    storage: StorageArguments,
}

#[derive(Debug, Subcommand)]
enum ChildCommand {
    /// The engine child that an agent starts; stdin is its end of a socket pair.
    #[command(hide = true)]
    Engine {
        #[arg(long, default_value = "1")]
        threads: NonZeroU32,
        #[command(flatten)]
        storage: StorageArguments,
    },
    /// Tests how this machine isolates model-written programs, or runs one
    Sandbox(SandboxArgs),
    /// Measures the device of this machine, and the engine on it
    GpuCheck(GpuCheckArgs),
    /// Serves a model of this machine with OpenAI's protocol
    ServeOpenai(ServeArgs),
    #[command(flatten)]
    Generated(Generated),
}

#[derive(Debug, Args)]
struct AgentArgs {
    /// Address of the master; of all masters, if there are several: the worker finds the leader
    #[arg(long, value_name = "HOST:PORT,...", required_unless_present = "once", value_delimiter = ',')]
    master: Vec<MasterAddress>,
    /// File with the join token [default: the token that a master left in this home, under ~/.local/state/compass/join]
    #[arg(long, value_name = "FILE", env = "COMPASS_TOKEN_FILE", value_parser = parse_file)]
    token_file: Option<PathBuf>,
    /// Reach the masters through this proxy: http://HOST:PORT or socks5://HOST:PORT [default: HTTPS_PROXY, ALL_PROXY
    /// and NO_PROXY, which may hold user and password]
    #[arg(long, value_name = "URL", value_parser = parse_proxy)]
    proxy: Option<Proxies>,
    /// Device for models: auto uses the first GPU, or the CPU if there is none
    #[arg(long, value_name = "auto|cpu|cuda:N", default_value = "auto")]
    device: Device,
    /// Number of engines; each loads its own copy of the model [default: 1, or the number of GPUs under Slurm]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: Option<u32>,
    /// Pool of the master's configuration that the worker joins
    #[arg(long, value_name = "NAME", env = "COMPASS_POOL", value_parser = parse_name)]
    pool: Option<String>,
    /// Name of the worker, unique among the master's workers [default: <hostname>-<pid>, or the job's under Slurm]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Threads per engine
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroU32,
    /// Exit when no master has answered for this long, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    master_lost_timeout: Duration,
    /// Run no model-written programs, and do not test for a sandbox
    #[arg(long, conflicts_with = "unsafe_local_exec")]
    no_sandbox: bool,
    /// Where no sandbox works, run model-written programs as plain processes with all of your rights
    #[arg(long)]
    unsafe_local_exec: bool,
    /// Exit when stdin reaches EOF: the launcher holds its other end
    #[arg(long, hide = true)]
    exit_with_parent: bool,
    /// Connect to a master on loopback without encryption and token: for fake masters of tests only
    #[arg(long, hide = true)]
    plain_loopback: bool,
}

/// Task of this process.
#[derive(Debug)]
pub enum Role {
    Agent(AgentOptions),
    Once(OnceOptions),
    Engine(EngineOptions),
    Sandbox(SandboxOptions),
    GpuCheck(GpuCheckOptions),
    ServeOpenai(ServeOptions),
    Generated(Generated),
}

impl Cli {
    /// Returns the parsed role.
    pub fn role(self) -> Role {
        let agent = self.agent.as_ref();
        let device = agent.map_or("auto", |agent| agent.device.0.as_str()).to_owned();
        let engine =
            EngineOptions { threads: agent.map_or(1, |agent| agent.threads.get()), storage: self.storage.clone() };
        let programs = agent.map_or(ProgramPolicy::Contained, AgentArgs::programs);
        if let Some(options) = self.once.options(device, engine.clone(), programs) {
            return Role::Once(options);
        }
        match (self.child, self.agent) {
            (Some(ChildCommand::Engine { threads, storage }), _) => {
                Role::Engine(EngineOptions { threads: threads.get(), storage })
            }
            (Some(ChildCommand::Sandbox(args)), _) => Role::Sandbox(args.options()),
            (Some(ChildCommand::GpuCheck(args)), _) => Role::GpuCheck(args.options()),
            (Some(ChildCommand::ServeOpenai(args)), _) => Role::ServeOpenai(args.options()),
            (Some(ChildCommand::Generated(generated)), _) => Role::Generated(generated),
            (None, Some(args)) => Role::Agent(args.options(engine)),
            // `--master` is required: clap rejects a command line without it.
            (None, None) => clap::Command::new("compass-worker")
                .error(clap::error::ErrorKind::MissingRequiredArgument, "--master HOST:PORT is missing")
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

    fn options(self, engine: EngineOptions) -> AgentOptions {
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
            ends_at: slurm.ends_at,
            // With an explicit number of engines, this process is meant to run.
            idle_reason: slurm.idle_reason.filter(|_| self.slots.is_none() && !self.exit_with_parent),
            engine,
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
            return Err("a host name cannot contain spaces; write host:port, such as head:50051".into());
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err("write an IPv6 address in brackets, such as [::1]:50051".into());
        }
        port.parse::<u16>().map_err(|_| format!("`{port}` is not a port; write host:port, such as {host}:50051"))?;
        Ok(Self(text.to_owned()))
    }
}

#[derive(Clone, Debug)]
struct Device(String);

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let files = GpuFiles::here();
        if text.starts_with("cuda:") && !files.usable {
            return Err(format!("this machine {}; write cpu, or auto", files.none_shown()));
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

/// Parses a path; an empty environment variable counts as none.
fn parse_file(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

fn parse_proxy(text: &str) -> Result<Proxies, String> {
    Proxies::one(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::partition::TaskName;

    fn agent(line: &str) -> Result<AgentOptions, String> {
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        match cli.role() {
            Role::Agent(options) => Ok(options),
            Role::Once(_)
            | Role::Engine(_)
            | Role::Sandbox(_)
            | Role::GpuCheck(_)
            | Role::ServeOpenai(_)
            | Role::Generated(_) => Err("not an agent".into()),
        }
    }

    #[test]
    fn defaults_apply_to_a_minimal_command_line() {
        let options = agent("compass-worker --master head:50051").unwrap();
        assert_eq!(options.masters, ["head:50051"]);
        assert_eq!(agent("compass-worker --master a:1,[::1]:2").unwrap().masters, ["a:1", "[::1]:2"]);
        assert_eq!((options.slots, options.engine.threads, options.device.as_str()), (1, 1, "auto"));
        assert_eq!(options.master_lost_timeout, Duration::from_secs(600));
        assert!(options.name.ends_with(&std::process::id().to_string()));
    }

    #[test]
    fn errors_say_what_to_write() {
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
    fn once_needs_no_master() {
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
    fn engine_child_needs_no_master() {
        let cli = Cli::try_parse_from(["compass-worker", "engine", "--threads", "3"]).unwrap();
        assert!(matches!(cli.role(), Role::Engine(EngineOptions { threads: 3, .. })));
    }
}
