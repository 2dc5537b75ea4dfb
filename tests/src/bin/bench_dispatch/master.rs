//! The master's half, in a process of its own: everything of production but plan, partitioner and scores.

use crate::options::{Options, Role, Store};
use compass_ledger::{AssignmentLog, Committed, Committer, Ledger};
use compass_plan::{PLAN_FORMAT, Plan};
use compass_progress::{ProgressBoard, RunFacts, RunView};
use compass_proto::v1;
use compass_rpc::{
    Access, Answer, Inbound, JobKey, PlanFiles, RunParameters, Uploads, WorkerRouter, WorkerService, serve,
};
use compass_run::leader::Leader;
use compass_run::{DemandPublisher, Driver, Setup};
use compass_scheduler::{ConnectionId, Core, Limits, Recorded, Requires, SlotDemand, TaskView, Watch};
use compass_settings::EtcdConfig;
use compass_store::{AnyStore, CoordinationStore, EmbeddedStore, EtcdStore, Keys, Op, StoreTimeouts};
use compass_tests::{Etcd, EtcdOptions};
use compass_types::ids::{Attempt, Digest, Epoch, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Units of the made-up job, each with a share of the tasks.
const UNITS: u32 = 8;

/// Identity of the made-up job.
pub(crate) fn plan() -> Digest {
    Digest::of(b"bench-dispatch")
}

/// Processor time of this process so far, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    cpu_seconds_of("self")
}

/// Processor time of a process so far, in seconds, by its number in `/proc`.
fn cpu_seconds_of(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // Linux counts in hundredths for everybody.
    (ticks(11) + ticks(12)) / 100.0
}

/// The most memory that this process ever had.
fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Folder in which a master works, and its etcd.
pub(crate) struct MasterFolder {
    options: Options,
    folder: tempfile::TempDir,
    etcd: Option<Etcd>,
}

/// The master's process.
pub(crate) struct Master {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
    _place: MasterFolder,
}

impl MasterFolder {
    /// A fresh folder; `None` where etcd is asked for and missing, which is reported.
    pub(crate) fn prepare(options: &Options) -> Result<Option<Self>, Box<dyn Error>> {
        let folder = tempfile::tempdir_in(std::env::current_dir()?)?;
        let etcd = match options.store {
            Store::Embedded => None,
            Store::Etcd => match Etcd::start("bench-dispatch", 1, EtcdOptions::default()) {
                Some(etcd) => Some(etcd),
                None => return Ok(None),
            },
        };
        Ok(Some(Self { options: options.clone(), folder, etcd }))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn start(self) -> Result<Master, Box<dyn Error>> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let endpoints = self.etcd.as_ref().map(Etcd::endpoints).unwrap_or_default();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(self.options.for_master(&folder, &endpoints)).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let mut master = Master { child, stdout: BufReader::new(stdout), address: String::new(), _place: self };
        master.address = master.line()?;
        Ok(master)
    }
}

impl Master {
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> MasterProcess {
        MasterProcess(self.child.id())
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() { Err("the master's process ended".into()) } else { Ok(line.trim().to_owned()) }
    }

    /// Waits for its end; the most memory that it ever had, in MiB.
    pub(crate) fn finish(&mut self) -> Result<f64, Box<dyn Error>> {
        let line = self.line()?;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("the master's process ended with {status}").into());
        }
        Ok(line.parse()?)
    }
}

/// The process of a master that runs.
#[derive(Clone, Copy)]
pub(crate) struct MasterProcess(u32);

impl MasterProcess {
    /// Its processor time so far, in seconds.
    pub(crate) fn cpu_seconds(self) -> f64 {
        cpu_seconds_of(&self.0.to_string())
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves the made-up job to its end.
pub(crate) fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    debug_assert_eq!(options.role, Role::Master);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(lead(options))
}

fn tasks(options: &Options) -> Vec<TaskView> {
    let view = |task: u32| {
        let first = task / UNITS * options.samples;
        let samples = IntervalSet::range(first, first + options.samples);
        let (unit, attempt) = (UnitId(task % UNITS), Attempt(0));
        TaskView { unit, model: ModelId(0), requires: Requires::Echo, samples, attempt, sample_cost: 1, shared_cost: 0 }
    };
    (0..options.tasks).map(view).collect()
}

async fn store(options: &Options) -> Result<AnyStore, Box<dyn Error>> {
    Ok(match options.store {
        Store::Embedded => {
            let folder = Path::new(&options.folder).join("state");
            AnyStore::Embedded(Box::new(EmbeddedStore::open(&folder, "bench")?))
        }
        Store::Etcd => {
            let endpoints = options.endpoints.split(',').map(str::to_owned).collect();
            let config = EtcdConfig { endpoints, prefix: "bench".into(), ..EtcdConfig::default() };
            AnyStore::Etcd(Box::new(EtcdStore::open(&config, &plan(), StoreTimeouts::default())?))
        }
    })
}

/// Accepts every worker that connects.
#[derive(Debug)]
struct Everyone(mpsc::Sender<Inbound>);

impl WorkerRouter for Everyone {
    fn arrive(&self, _: ConnectionId, _: &v1::Hello) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        // The receiver is in the next line.
        let _ = answer.send(Answer::TakenIn(self.0.clone()));
        answered
    }

    fn left(&self, _: &WorkerId, _: ConnectionId) {}
}

async fn lead(options: &Options) -> Result<(), Box<dyn Error>> {
    let (digest, keys) = (plan(), Keys::new(&plan()));
    let mut store = store(options).await?;
    let leadership = store.campaign("bench-dispatch", Epoch(0)).await?;
    let folder = Path::new(&options.folder).join("ledger");
    std::fs::create_dir(&folder)?;
    let segment = Ledger::new(folder, digest).create_segment(leadership.epoch, "bench")?;
    let (key, length) = (keys.segment(segment.name()), segment.durable_length());
    store.commit(&leadership, vec![Op::Put { key, value: length.to_le_bytes().to_vec() }]).await?;

    let limits = Limits::default();
    let (epoch, lease_ttl_ms) = (leadership.epoch, limits.lease_ttl as u32);
    let core = Core::new(epoch, limits, tasks(options), Recorded::default());
    let (pools, units) = (BTreeMap::new(), BTreeMap::new());
    let key = JobKey::random()?;
    let terms = RunParameters {
        plan: digest,
        epoch,
        lease_ttl_ms,
        heartbeat_ms: 2_000,
        engine_timeout_ms: 0,
        pools,
        key,
        units,
    };
    let leader = Leader::new(core, terms, keys.clone(), Watch::default());
    let (reports, durability) = watch::channel(Committed { length, ..Committed::default() });
    let assignment_log = AssignmentLog::new(keys.clone(), epoch, Vec::new());
    let committer = Committer::start(store, leadership, keys, assignment_log, segment, reports)?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (inbound, received) = mpsc::channel(1024);
    let interrupted = CancellationToken::new();
    let service = WorkerService::new(Arc::new(Everyone(inbound)), PlanFiles::new(BTreeMap::new()), Uploads::default());
    let server = tokio::spawn(serve(listener, Access::Open, service, CancellationToken::new()));
    let (models, datasets) = (Vec::new(), Vec::new());
    let empty =
        Plan { format: PLAN_FORMAT, config: digest, models, datasets, duplicates: None, left_out: Default::default() };
    let (views, _view) = watch::channel(RunView::default());
    let (_fleet, reported) = watch::channel(Vec::new());
    let (_launching, given_up) = watch::channel(None);
    let (wanted, _demand) = watch::channel(SlotDemand::default());
    let (_desk, commands) = mpsc::channel(1);
    let driver = Driver::new(Setup {
        leader,
        committer,
        durability,
        inbound: received,
        pools: reported,
        given_up,
        open_at: None,
        others_may_come: true,
        dismisses: false,
        debug: false,
        interrupted,
        board: ProgressBoard::new(Arc::new(empty)),
        facts: RunFacts::default(),
        views,
        commands,
        demands: DemandPublisher::from(wanted),
    });
    println!("{address}");
    std::io::stdout().flush()?;
    let begun = Instant::now();
    let driven = Box::pin(driver.run()).await?;
    server.abort();
    eprintln!(
        "master: {} tasks open after {:.2} s, {} rules broken",
        driven.core.progress().open_tasks,
        begun.elapsed().as_secs_f64(),
        driven.facts.violations
    );
    println!("{}", peak_rss_mib());
    Ok(())
}
