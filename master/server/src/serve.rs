//! A server that stays: opens everything, goes on with what has not ended, takes in what is submitted, and ends when it is
//! asked to.

use super::agents::{Agents, Launching, autoscaler, own_slots};
use super::book::{Book, ENDED, is_seen};
use super::job_config::{job_config, launch_config};
use super::job_workers::LaunchedFor;
use super::peers::Peers;
use super::ports::{BoundPorts, PortsError};
use super::server::Server;
use super::server_job::Job;
use super::status_file::StatusFile;
use compass_cli::exit;
use compass_common::job_log::{JobLog, LogLine};
use compass_common::status_output::{print_timed, with_log};
use compass_common::words::counted;
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_jobs::control::{self, usual_state_dir};
use compass_jobs::job::{check_http, now};
use compass_jobs::{Accepted, Declined, Ended, Failure, JobEntry, JobRecord, OpenedRun, ServerBackend, SlotBound};
use compass_planning::SpeedStore;
use compass_run::{JobHandle, ModelPlacement};
use compass_run_folder::RunFolder;
use compass_scheduler::broker::{FairShare, JobId};
use compass_settings::{Base, PoolConfig, RunnerKind};
use compass_store::LeadershipStatus;
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tracing::Instrument as _;

/// Message to workers at the end.
const STOPPED: &str = "the master was asked to stop";

#[derive(Debug)]
struct Jobs {
    base: Base,
    server: Arc<Server>,
    address: SocketAddr,
    /// State of its launchers.
    launching: Launching,
    book: Mutex<Book>,
    /// Set if other servers may stand by.
    is_shared: bool,
    running: Mutex<JoinSet<()>>,
    status: watch::Receiver<LeadershipStatus>,
    interrupted: watch::Receiver<Option<u8>>,
}

/// Runs a server until `interrupted` turns to the code of a signal, which it returns. Where servers share a store it first
/// stands by until no other leads.
///
/// # Errors
/// It could not begin, and nothing was started; or another server leads by now.
pub async fn serve(
    base: Base,
    status_file: Option<PathBuf>,
    interrupted: watch::Receiver<Option<u8>>,
) -> Result<u8, Failure> {
    let mut shown = None;
    let served = Box::pin(serve_until(base, status_file, &mut shown, interrupted)).await;
    if let Some(status_file) = shown {
        status_file.end(&served);
    }
    served
}

/// As [`serve`]; `shown` gets what writes the status file, once there is something to tell.
async fn serve_until(
    base: Base,
    status_file: Option<PathBuf>,
    shown: &mut Option<StatusFile>,
    mut interrupted: watch::Receiver<Option<u8>>,
) -> Result<u8, Failure> {
    compass_run_folder::check_writable("state_dir", &base.state_dir).map_err(|error| Failure::of_folder(&error))?;
    check_http(&launch_config(&base))?;
    let holder = compass_run::candidate();
    let Some(mut book) = Book::open(&base, &holder, status_file.as_deref(), &mut interrupted).await? else {
        return Ok((*interrupted.borrow()).unwrap_or(exit::TERMINATED));
    };
    let (took_over, mut status) = (book.took_over, book.status());
    let known = book.all().await.map_err(|error| Failure::of_store(&error))?;
    let config = launch_config(&base);
    let bound = BoundPorts::bind(&config).await.map_err(|error| of_ports(&error))?;
    let (address, told) = (bound.address(), bound.endpoint().advertised().to_owned());
    let peers = Peers::of(&base.store).map_err(|error| Failure::of_store(&error))?;
    peers.join(&told).await.map_err(|error| Failure::of_store(&error))?;
    let others = peers.known_beside(&told).await;
    let autoscaler = autoscaler(&base, &config, bound.endpoint(), &others);
    let autoscaler = autoscaler.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    let socket = control::open(&base.state_dir, control::SERVER);
    let socket = socket.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let socket = socket.announced_in(&usual_state_dir().unwrap_or_default());
    let server = Server::new(config, "the jobs are");
    let agents = Agents::start(autoscaler, server.dispatcher.clone());
    let jobs = Arc::new(Jobs {
        server: server.clone(),
        address,
        launching: agents.launching(),
        is_shared: book.is_shared(),
        book: Mutex::new(book),
        running: Mutex::default(),
        status: status.clone(),
        interrupted: interrupted.clone(),
        base,
    });
    server.registry.governed_by(Backend(jobs.clone()), told.clone());
    *shown = status_file.map(|path| StatusFile::begin(path, server.registry.clone()));
    for job in known {
        if took_over && job.ended.is_none() && !is_seen(&job) {
            let (id, folder) = (JobId::of(&job.plan), job.folder.display());
            print_timed(format!("job {id} is left alone: this host does not see its run folder, {folder}"));
            continue;
        }
        jobs.begin(job).await;
    }
    // Only now, so that workers that hold something of a job wait for it.
    server.open_at(bound).await;
    server.answer(socket);
    match &jobs.base.runner.kind {
        _ if !jobs.base.pools.is_empty() => print_timed(format!("serving; workers dial {told}")),
        RunnerKind::Local => {
            let slots = own_slots(&jobs.base);
            print_timed(format!("serving with {} on this host; more may dial {told}", counted(slots, "worker")));
        }
        RunnerKind::None => print_timed(format!("serving; waiting for workers: compass-worker --master {told}")),
        _ => print_timed(format!("serving; workers dial {told}")),
    }
    // A signal, or the end of the task that watches for signals.
    tokio::select! {
        _ = interrupted.wait_for(Option::is_some) => {}
        Ok(_) = status.wait_for(|status| *status == LeadershipStatus::Lost) => {
            // Workers are the other server's from now on: none is told to end, and nothing more is recorded.
            agents.leave();
            let message = "another server leads by now; this one was stopped, or cut off from the store, for too long";
            let help = "nothing is lost: the other goes on with all jobs; start this one again and it stands by";
            return Err(Failure::new(exit::LEADERSHIP_LOST, Diagnostic::error(message).with_help(help)));
        }
    }
    let code = (*interrupted.borrow()).unwrap_or(exit::TERMINATED);
    server.dispatcher.close(STOPPED);
    // Else those that are told to end would be replaced.
    agents.retire();
    // Each hears of the signal by itself, and keeps what it has received.
    let mut running = std::mem::take(&mut *jobs.running.lock().await);
    while running.join_next().await.is_some() {}
    let open = server.registry.status().jobs.iter().filter(|job| job.exit_code.is_none()).count();
    server.stop().await;
    agents.end().await;
    server.close().await;
    jobs.book.lock().await.hand_over().await;
    match open {
        0 => {}
        1 => print_timed("stopped; one job goes on when the server is started again"),
        _ => print_timed(format!("stopped; {open} jobs go on when the server is started again")),
    }
    Ok(code)
}

/// Returns the reason why the ports of a server cannot be opened.
fn of_ports(error: &PortsError) -> Failure {
    let code = if error.is_bad_input() { exit::BAD_INPUT } else { exit::INFRASTRUCTURE };
    Failure::of(code, error)
}

impl Jobs {
    /// Puts a job on the books, and runs it unless it has ended.
    async fn begin(self: &Arc<Self>, job: JobRecord) {
        let (ended, ending) = watch::channel(job.ended.clone());
        let job_handle = JobHandle::default();
        if let Some(reason) = job.cancelled.clone() {
            job_handle.cancel(reason).await;
        }
        let id = JobId::of(&job.plan);
        let job_log = Arc::new(match &job.ended {
            Some(_) => JobLog::ended(),
            None => JobLog::new(&job.folder.join("logs").join("serve.log")),
        });
        self.server.registry.add(JobEntry {
            priority: job.priority,
            submitted: job.submitted.clone(),
            key: job.key.clone(),
            max_slots: job.infer.bound(),
            job_handle: job_handle.clone(),
            job_log: Some(job_log.clone()),
            ended: ending,
            ..JobEntry::new(job.plan, job.folder.clone())
        });
        if job.ended.is_some() {
            // Nothing waits for it: the page has it once it is read.
            tokio::task::spawn_blocking(move || {
                compass_scoring::recalled(&job.folder).map(|view| job_handle.recall(view))
            });
            return;
        }
        let run = job.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        print_timed(format!("job {id} begins: {}", job.folder.display()));
        self.server.dispatcher.expect(job.plan, id.clone());
        let jobs = self.clone();
        // Enabled at every level: the server's log names the job of each warning.
        let span = tracing::error_span!("job", %id);
        let run = async move {
            let ran = with_log(job_log.clone(), jobs.run_on(&id, &job, &job_handle)).await;
            jobs.server.dispatcher.forget(&id);
            let stopped = jobs.interrupted.borrow().is_some();
            let (exit_code, reason, help) = match ran {
                // Whatever the job says of a signal: it goes on with the next server.
                Err(_) if stopped => return,
                Ok(code) => (code, String::new(), None),
                Err(Failure { code, diagnostics }) => {
                    (code, diagnostics.message(), diagnostics.help().map(str::to_owned))
                }
            };
            let mut book = jobs.book.lock().await;
            let (_, view) = job_handle.view();
            let outcome = Ended {
                exit_code,
                reason,
                help,
                at: now(),
                recorded_samples: view.recorded_samples,
                expected_samples: view.expected_samples,
                failed_tasks: view.failed_tasks,
            };
            let cancelled = job_handle.cancelled();
            let record = JobRecord { ended: Some(outcome.clone()), cancelled, ..job };
            if let Err(error) = book.keep(&record).await {
                let unrecorded = Diagnostic::error(format!("the end of this job cannot be recorded: {error}"));
                job_log.write(LogLine::Status(unrecorded.to_string()));
            }
            print_timed(format!("job {id} ({run}) {}", outcome.in_words(record.cancelled.as_deref())));
            job_log.close();
            ended.send_replace(Some(outcome));
            // The records are still locked: a job that is submitted again meanwhile is not forgotten.
            let forgotten = jobs.server.registry.forget_ended(ENDED);
            if let Err(error) = book.forget(&forgotten).await {
                // They are forgotten when a server begins.
                tracing::debug!(%error, "could not forget jobs that ended long ago");
            }
        };
        let mut running = self.running.lock().await;
        // What has ended leaves nothing behind.
        while running.try_join_next().is_some() {}
        running.spawn(run.instrument(span));
    }

    /// As [`Self::run`]. A job that another master leads is stood by for: if a server that leads by now is meant, this one
    /// is about to learn of it.
    async fn run_on(&self, id: &JobId, job: &JobRecord, job_handle: &JobHandle) -> Result<u8, Failure> {
        loop {
            match self.run(id, job, job_handle.clone()).await {
                Err(failure) if failure.code == exit::LEADERSHIP_LOST && self.is_shared => {
                    // What its workers hold is still the job's, under any leader.
                    self.server.dispatcher.expect(job.plan, id.clone());
                    // A follower of the job is not told: the job goes on, and the next leader speaks.
                    tracing::debug!(why = %failure.diagnostics.message(), "another master leads this job");
                }
                ended => return ended,
            }
        }
    }

    async fn run(&self, id: &JobId, job: &JobRecord, job_handle: JobHandle) -> Result<u8, Failure> {
        let gone = || {
            let folder = job.folder.display();
            let message = format!("there is no plan in {folder}: the run folder was moved or removed");
            Failure::bad_input(Diagnostic::error(message))
        };
        let folder = RunFolder::at(&job.folder).ok_or_else(gone)?;
        let earlier = job.earlier.as_ref().and_then(|folder| RunFolder::at(folder));
        let opened = OpenedRun { folder, earlier, plan: None };
        let job = Job {
            id: id.clone(),
            config: job_config(&self.base, self.address, job),
            request: job.request(),
            opened,
            job_handle,
            priority: job.priority,
            bound: job.infer.slots,
            placements: job.placements.clone(),
            launched: LaunchedFor::Server(self.launching.clone()),
        };
        Box::pin(self.server.run(job, self.interrupted.clone())).await
    }
}

/// Returns whether the model loads in some pool; without pools every model loads that names none.
fn is_home_to(pools: &[PoolConfig], model: &ModelPlacement) -> bool {
    if pools.is_empty() { model.pools.is_empty() } else { pools.iter().any(|pool| model.loads_in(pool)) }
}

/// Returns the reason why a model has no place in any pool of the server's.
fn nowhere(model: &ModelPlacement, pools: &[PoolConfig]) -> Diagnostic {
    let named = |names: &[&str]| match names {
        [name] => format!("the pool `{name}`"),
        names => format!("the pools `{}`", names.join("`, `")),
    };
    let who = if model.abbr.is_empty() { "a model".to_owned() } else { format!("model `{}`", model.abbr) };
    let wanted: Vec<&str> = model.pools.iter().map(String::as_str).collect();
    let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
    let (has, help) = match pools.iter().any(|pool| pool.takes(&model.pools)) {
        _ if pools.is_empty() => (
            "this server defines no pools".to_owned(),
            "leave `pools` out of the model, or define them in the file that `compass-master serve` reads",
        ),
        true => {
            let path = model.path.display();
            let message = format!("no pool of this server has the files of {who} ({path}); it has {}", named(&names));
            let help = "put them where the server's host sees them, or write in `paths` of a pool where they are there";
            return Diagnostic::error(message).with_help(help);
        }
        false => (
            format!("this server has {}", named(&names)),
            "correct `pools` of the model, or define it in the file that `compass-master serve` reads",
        ),
    };
    Diagnostic::error(format!("{who} wants {}, and {has}", named(&wanted))).with_help(help)
}

/// The jobs of this server, as commands reach them.
#[derive(Debug)]
struct Backend(Arc<Jobs>);

#[tonic::async_trait]
impl ServerBackend for Backend {
    async fn submit(&self, job: JobRecord) -> Result<Accepted, Declined> {
        if self.0.interrupted.borrow().is_some() {
            let message = "the server is stopping; submit again when it is started again";
            return Err(Declined::Now(Diagnostic::error(message).into()));
        }
        if let Some(model_placement) = job.placements.iter().find(|model| !is_home_to(&self.0.base.pools, model)) {
            return Err(Declined::Ever(nowhere(model_placement, &self.0.base.pools).into()));
        }
        // Held to the end: of two who submit the same at once, one attaches.
        let mut book = self.0.book.lock().await;
        let id = JobId::of(&job.plan);
        let keyed = job.key.as_deref().and_then(|key| self.0.server.registry.keyed(key));
        if let Some(known) = keyed.or_else(|| self.0.server.registry.find(&job.plan)) {
            return Ok(Accepted { job: known.id, folder: known.folder, attached: true });
        }
        let folder = job.folder.clone();
        book.keep(&job).await.map_err(|error| Declined::Now(Failure::of_store(&error).diagnostics))?;
        self.0.begin(job).await;
        Ok(Accepted { job: id, folder, attached: false })
    }

    async fn cancel(&self, job: &JobId, reason: &str) -> Result<(), Diagnostics> {
        let mut book = self.0.book.lock().await;
        let all = book.all().await.map_err(|error| Failure::of_store(&error).diagnostics)?;
        let Some(record) = all.into_iter().find(|record| JobId::of(&record.plan) == *job && record.ended.is_none())
        else {
            return Ok(());
        };
        let record = JobRecord { cancelled: Some(reason.to_owned()), ..record };
        print_timed(format!("job {job} is cancelled: {reason}"));
        book.keep(&record).await.map_err(|error| Failure::of_store(&error).diagnostics)
    }

    fn shares(&self) -> BTreeMap<JobId, FairShare> {
        self.0.server.dispatcher.shares()
    }

    fn idle_workers(&self) -> Vec<WorkerId> {
        self.0.server.dispatcher.idle()
    }

    fn connected_slots(&self) -> u32 {
        self.0.server.dispatcher.connected_slots()
    }

    fn speeds(&self) -> SpeedStore {
        SpeedStore::of(&self.0.base.store, &self.0.base.state_dir)
    }

    fn bound(&self) -> Option<SlotBound> {
        let is_local = self.0.base.pools.is_empty() && self.0.base.runner.kind == RunnerKind::Local;
        match (self.0.base.runner.max_num_workers, is_local) {
            (Some(slots), _) => Some(SlotBound { slots, by: "`max_num_workers` of the server".to_owned() }),
            (None, true) => {
                let by = "one for each core of its host, unless its `max_num_workers` says otherwise".to_owned();
                Some(SlotBound { slots: own_slots(&self.0.base), by })
            }
            (None, false) => None,
        }
    }

    fn pools_to_join(&self) -> Vec<String> {
        let not_launched = self.0.base.pools.iter().filter(|pool| pool.runner == RunnerKind::None);
        not_launched.map(|pool| pool.name.clone()).collect()
    }

    fn status(&self) -> LeadershipStatus {
        self.0.status.borrow().clone()
    }

    fn notes(&self) -> Vec<String> {
        let connected = self.0.server.dispatcher.connected();
        self.0.launching.notes(|worker| connected.contains(worker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_pools_takes_models_that_name_none() {
        let model = |pools: &[&str]| ModelPlacement {
            abbr: "m".into(),
            pools: pools.iter().map(|pool| (*pool).to_owned()).collect(),
            path: "/somewhere/else".into(),
            tokenizer_path: "/somewhere/else".into(),
            peft_path: PathBuf::new(),
        };
        assert!(is_home_to(&[], &model(&[])));
        let bound = model(&["gold", "silver"]);
        assert!(!is_home_to(&[], &bound));
        assert_eq!(
            nowhere(&bound, &[]).message,
            "model `m` wants the pools `gold`, `silver`, and this server defines no pools"
        );
        let near = PoolConfig { name: "near".into(), ..PoolConfig::default() };
        let lost = nowhere(&model(&["gold"]), std::slice::from_ref(&near));
        assert_eq!(lost.message, "model `m` wants the pool `gold`, and this server has the pool `near`");
        assert!(lost.help.is_some_and(|help| help.starts_with("correct `pools` of the model")));
        let earlier = ModelPlacement { abbr: String::new(), ..model(&["gold"]) };
        assert!(nowhere(&earlier, &[near]).message.starts_with("a model wants the pool `gold`, and "));
    }
}
