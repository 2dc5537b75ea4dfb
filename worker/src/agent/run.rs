//! Runs an agent from its options to its end.

use super::event::Event;
use super::options::AgentOptions;
use super::programs::Programs;
use super::shell::Shell;
use super::spool_file::UnnamedFile;
use crate::dial::{DialOptions, JoinTokenSource, MasterEndpoint};
use crate::engine_child::HAS_ENGINE;
use crate::parent::end_with_parent;
use compass_agent::{AgentConfig, AgentCore, ExitReason};
use compass_types::ids::Digest;
use std::io::Read;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Capacity of the event queue; reporters wait while it is full.
const WAITING_EVENTS: usize = 1024;
/// Time before the end that the launcher sets at which the agent starts to drain.
const DRAIN_BEFORE_END: Duration = Duration::from_secs(60);
/// Time for the slots to stop at the end.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// Runs an agent to its end.
pub fn run(options: AgentOptions) -> ExitReason {
    if let Some(reason) = options.idle_reason {
        return ExitReason::NotNeeded { reason };
    }
    let broken = |reason: String| ExitReason::Failed { reason: format!("cannot start: {reason}") };
    if options.exit_with_parent {
        end_with_parent();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let ending = runtime.block_on(Box::pin(run_agent(options))).unwrap_or_else(broken);
            // The thread that reads stdin may never return.
            runtime.shutdown_background();
            ending
        }
        Err(error) => broken(error.to_string()),
    }
}

async fn run_agent(options: AgentOptions) -> Result<ExitReason, String> {
    let tokens = JoinTokenSource::of(options.token_file.clone(), std::env::home_dir().as_deref());
    let endpoints = MasterEndpoint::all(
        &options.masters,
        DialOptions { worker: options.name.clone(), pool: options.pool.clone(), plain: options.plain_loopback },
        tokens,
        options.proxies.clone(),
    );
    let endpoints = endpoints.map_err(|error| format!("--master: {error}"))?;
    let (events, inbox) = mpsc::channel(WAITING_EVENTS);
    if let Some(end) = options.ends_at {
        tokio::spawn(report_end_of_time(end, events.clone()));
    }
    report_signals(&events).map_err(|error| error.to_string())?;
    if options.exit_with_parent {
        report_end_of_input(events.clone()).map_err(|error| error.to_string())?;
    }
    tracing::info!(name = options.name, masters = options.masters.join(","), slots = options.slots, "worker starts");
    let session = session_name(&options.name);
    let programs = Programs::detect(options.programs, options.slots).await;
    let boot = AgentConfig {
        name: options.name.clone(),
        seed: seed_of(&session),
        session,
        pool: options.pool.clone(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        masters: options.masters.clone(),
        master_lost_timeout: options.master_lost_timeout,
        slots: options.slots,
        device: options.device.clone(),
        device_kind: options.device_kind(),
        has_engine: HAS_ENGINE,
        sandbox: programs.found.clone(),
        runs_programs: programs.refusal().is_none(),
    };
    let spool = UnnamedFile::in_folder(std::env::temp_dir());
    let mut shell = Shell::new(AgentCore::new(boot, Box::new(spool)), &options, endpoints, programs, events);
    let ending = Box::pin(shell.run(inbox)).await;
    let _ = tokio::time::timeout(STOP_GRACE, shell.stop()).await;
    Ok(ending)
}

/// Returns a name that is unique among all processes.
fn session_name(worker: &str) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    Digest::of(format!("{worker} {} {now}", std::process::id()).as_bytes()).short()
}

/// Derives a seed from the session name: workers that lost one master at the same moment do not reconnect at the same
/// moment.
fn seed_of(session: &str) -> u64 {
    let Digest(bytes) = Digest::of(session.as_bytes());
    bytes.iter().take(8).fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

fn report_signals(events: &mpsc::Sender<Event>) -> std::io::Result<()> {
    for (number, kind) in [(2, SignalKind::interrupt()), (15, SignalKind::terminate())] {
        let (mut stream, events) = (signal(kind)?, events.clone());
        tokio::spawn(async move {
            while stream.recv().await.is_some() && events.send(Event::Signal(number)).await.is_ok() {}
        });
    }
    Ok(())
}

/// Reports a minute before the end, or at nine tenths of the remaining time if that is later.
async fn report_end_of_time(end: SystemTime, events: mpsc::Sender<Event>) {
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left - DRAIN_BEFORE_END.min(left / 10)).await;
    let _ = events.send(Event::TimeIsUp).await;
}

fn report_end_of_input(events: mpsc::Sender<Event>) -> std::io::Result<()> {
    let read = move || {
        let mut input = std::io::stdin().lock();
        let mut ignored = [0; 256];
        while input.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
        let _ = events.blocking_send(Event::ParentGone);
    };
    std::thread::Builder::new().name("parent".into()).spawn(read).map(drop)
}
