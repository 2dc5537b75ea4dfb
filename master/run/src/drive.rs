//! The driver: feeds a leader with frames, time and what has become durable, and the committer with what it submits.
//!
//! Decides nothing: what may leave, and when, is the [`Leader`]'s.

use super::clock::AttentiveClock;
use super::connections::Connections;
use super::drive_error::DriveError;
use super::job_handle::{DemandPublisher, JobCommand, JobReasons};
use super::latency::Timing;
use super::launching::how_to_join;
use super::leader::{FrameContent, Leader};
use compass_common::status_output::print_status;
use compass_launch::{PoolReport, explain_missing, explain_now};
use compass_ledger::{Committed, Committer, Content, Submission, Tally, WorkerEvent};
use compass_progress::{Pace, ProgressBoard, RunFacts, RunView, Snapshot};
use compass_proto::v1;
use compass_proto::v1::master_frame::Body;
use compass_rpc::{Inbound, Output};
use compass_scheduler::{Core, Event, Seq, Supply};
use compass_store::AnyStore;
use compass_types::ids::{Epoch, WorkerId};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

const TICK: Duration = Duration::from_millis(250);
/// Frames that are taken in one go, before it is looked at what has become durable meanwhile.
const AT_ONCE: usize = 256;
/// Interval at which the screen learns the run's progress.
const PUBLISH: Duration = Duration::from_millis(100);
/// Ratio of the pause after a view to the time that it took to make: with thousands of workers it takes a while.
const REST: u32 = 50;
/// Records that wait for a place in the committer's queue before the driver stops listening.
const MOST_WAITING: usize = 100_000;
/// Longest time from the last samples' results to their reports: what the reports say is no part of any score.
const LAST_REPORTS: Duration = Duration::from_secs(5);
/// Interval at which a tally is made durable in which nothing but the time has changed, in milliseconds.
const TALLY_MS: u64 = 60_000;
/// Longest time for workers to hear that the run is over.
const FAREWELL: Duration = Duration::from_millis(500);

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every task is done or failed.
    Finished,
    /// A signal asked to stop; everything received is durable.
    Interrupted,
    /// Another master led, and brought the run to its end.
    EndedByAnother,
}

/// Parts that a driver leaves behind.
pub struct Driven {
    pub ending: Ending,
    pub core: Core,
    pub facts: RunFacts,
    /// The store, unless the committer's thread died.
    pub store: Option<AnyStore>,
}

/// Returns the reason for which the committer takes nothing more.
fn commit_error(durability: &watch::Receiver<Committed>) -> DriveError {
    durability.borrow().failure.clone().map_or(DriveError::ServiceEnded, DriveError::Commit)
}

/// Parts that a driver works with.
pub struct Setup {
    pub leader: Leader,
    pub committer: Committer,
    pub durability: watch::Receiver<Committed>,
    pub inbound: mpsc::Receiver<Inbound>,
    /// Reports of the pools from which its workers are launched.
    pub pools: watch::Receiver<Vec<PoolReport>>,
    /// Reason for which launching has ended, once it has.
    pub given_up: watch::Receiver<Option<String>>,
    /// Address at which workers join that are not launched, as their command line has it, if any may.
    pub open_at: Option<String>,
    /// Set if workers may join that are not launched here.
    pub others_may_come: bool,
    /// Set if workers are told to end when all is done; else another job or stage takes them over.
    pub dismisses: bool,
    pub interrupted: CancellationToken,
    pub board: ProgressBoard,
    pub facts: RunFacts,
    /// View that the HTTP port shows.
    pub views: watch::Sender<RunView>,
    /// Requests of people, and of the parts that share workers out.
    pub commands: mpsc::Receiver<JobCommand>,
    /// Demand of the job, for the parts that share workers out.
    pub demands: DemandPublisher,
    /// Set if a person tries out the set-up.
    pub debug: bool,
}

/// Counts of a job's failures.
#[derive(Clone, Copy, Default)]
struct Failed {
    /// Tasks that were given up, and those of which samples failed.
    tasks: u32,
    /// Samples that were given up, and those that are recorded as failed.
    samples: u64,
    given_up: u64,
    /// Failed tasks and recorded failed samples of which these were counted.
    counted_of: (u32, u64),
}

/// Feeds a leader with frames, time and what has become durable.
pub struct Driver {
    setup: Setup,
    started: Instant,
    clock: AttentiveClock,
    connections: Connections,
    submissions: Vec<Submission>,
    /// Frames under way; empty between steps.
    inbox: Vec<Inbound>,
    failed: Failed,
    published: Instant,
    show_again: Instant,
    /// Events of the run, as they were handed over last.
    tally: Tally,
    /// Facts that became known of workers, and are to be handed over.
    events: Vec<(WorkerId, WorkerEvent)>,
    /// The number of the last submission.
    last: Seq,
    /// Supply that launchers could give when the scheduler was told last.
    supply: Option<Supply>,
    /// Submissions for which the committer's queue has no place, while the store is away.
    waiting: VecDeque<Submission>,
    timing: Timing,
    /// Rates at which samples are recorded, and tokens computed and generated.
    samples: Pace,
    tokens: Pace,
    /// Set once the screen has heard that samples begin to run, where it is to hear it.
    told_of_samples: bool,
}

impl Driver {
    /// A driver that has not begun.
    pub fn new(setup: Setup) -> Self {
        let (tally, resumed) = (setup.facts.before.clone(), setup.facts.resumed_samples);
        Self {
            setup,
            started: Instant::now(),
            clock: AttentiveClock::start(Instant::now()),
            connections: Connections::default(),
            submissions: Vec::new(),
            inbox: Vec::new(),
            failed: Failed::default(),
            published: Instant::now(),
            show_again: Instant::now(),
            tally,
            events: Vec::new(),
            last: Seq::default(),
            supply: None,
            waiting: VecDeque::new(),
            timing: Timing::default(),
            samples: Pace::new(Instant::now(), resumed),
            tokens: Pace::new(Instant::now(), 0),
            told_of_samples: false,
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The ledger or the store failed, or no worker is left. What is durable stays so: the run can be resumed.
    pub async fn run(mut self) -> Result<Driven, DriveError> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Tasks may all be done already: a resumed run then ends at once.
        self.apply(Event::Tick).await?;
        let mut settled = None;
        let ending = loop {
            if self.setup.leader.is_settled() {
                let since = *settled.get_or_insert_with(Instant::now);
                if self.setup.leader.has_heard_all() || since.elapsed() >= LAST_REPORTS {
                    break Ending::Finished;
                }
            }
            tokio::select! {
                // Workers whose frames are not read hold their results back: the bound on what waits here.
                count = self.setup.inbound.recv_many(&mut self.inbox, AT_ONCE), if self.waiting.len() < MOST_WAITING => {
                    if count == 0 {
                        return Err(DriveError::ServiceEnded);
                    }
                    self.take()?;
                }
                changed = self.setup.durability.changed() => {
                    let committed = self.setup.durability.borrow_and_update().clone();
                    if let Some(error) = committed.failure {
                        return Err(DriveError::Commit(error));
                    }
                    if changed.is_err() {
                        return Err(DriveError::ServiceEnded);
                    }
                    self.timing.durable(committed.up_to, Instant::now());
                    self.setup.leader.durable(committed.up_to);
                    self.carry_out()?;
                }
                Some(ask) = self.setup.commands.recv() => self.answer(ask).await?,
                () = self.setup.committer.ready(), if !self.waiting.is_empty() => self.submit_waiting()?,
                _ = tick.tick() => {
                    self.tell_supply().await?;
                    self.apply(Event::Tick).await?;
                    self.keep_tally(false)?;
                    if Instant::now() >= self.show_again {
                        self.show();
                    }
                    // Others may have joined by hand.
                    let given_up = self.setup.given_up.borrow().clone();
                    if let Some(reason) = given_up.filter(|_| !self.setup.leader.core().has_workers()) {
                        return Err(DriveError::NoWorkers { reason });
                    }
                }
                () = self.setup.interrupted.cancelled() => break Ending::Interrupted,
            }
            if self.published.elapsed() >= PUBLISH {
                self.publish();
            }
        };
        self.keep_tally(true)?;
        self.publish();
        self.show();
        self.farewell(ending).await;
        let Setup { leader, committer, mut facts, .. } = self.setup;
        for submission in self.waiting {
            // An error is told by the report below.
            let _ = committer.submit(submission).await;
        }
        let store = committer.finish().await;
        let committed = self.setup.durability.borrow().clone();
        if let Some(error) = committed.failure {
            return Err(DriveError::Commit(error));
        }
        // As long as the next leader reads that it lasted.
        let lasted = Duration::from_millis(self.tally.milliseconds.saturating_sub(facts.before.milliseconds));
        facts.count(&leader.core().progress(), leader.violations(), lasted);
        facts.sent_away(leader.refusals(), leader.core().barred_from_job());
        leader.core().barred().for_each(|bar| facts.barred(bar));
        Ok(Driven { ending, core: leader.into_core(), facts, store })
    }

    /// Handles what is in the inbox.
    fn take(&mut self) -> Result<(), DriveError> {
        let (mut inbox, mut out) = (std::mem::take(&mut self.inbox), std::mem::take(&mut self.submissions));
        for inbound in inbox.drain(..) {
            self.hear(inbound, &mut out);
            self.carry(&mut out);
        }
        self.inbox = inbox;
        self.submit(out)
    }

    /// Sends out what the leader has to say. Telling it of connections that took no more may make it say more.
    fn carry(&mut self, out: &mut Vec<Submission>) {
        loop {
            let (timing, at) = (&mut self.timing, Instant::now());
            let outputs = self.setup.leader.outputs().inspect(|output| {
                if let Output::Frame { connection, frame: v1::MasterFrame { body: Some(Body::Grant(_)), .. } } = output
                {
                    timing.granted(*connection, at);
                }
            });
            let overflowed = self.connections.carry(outputs);
            if overflowed.is_empty() {
                return;
            }
            let now = self.clock.now_ms(Instant::now());
            for (worker, connection) in overflowed {
                tracing::warn!(%worker, "cut off a worker that does not read what it is told");
                self.setup.leader.closed(now, worker, connection, out);
            }
        }
    }

    /// As [`Self::carry`], where nothing else is to be submitted.
    fn carry_out(&mut self) -> Result<(), DriveError> {
        let mut out = std::mem::take(&mut self.submissions);
        self.carry(&mut out);
        self.submit(out)
    }

    fn hear(&mut self, inbound: Inbound, out: &mut Vec<Submission>) {
        let now = self.clock.now_ms(Instant::now());
        let leader = &mut self.setup.leader;
        match inbound {
            Inbound::Hello { connection, hello, outbound } => {
                let (worker, slots) = (WorkerId(hello.worker.clone()), hello.slots);
                let (device, pool) = (hello.device.clone(), hello.pool.clone());
                // Were the worker dead and another come in its place, that one would be taken for a second of the name.
                if let Some(lost) = self.connections.lost(&worker) {
                    leader.closed(now, worker.clone(), lost, out);
                }
                self.connections.open(connection, worker.clone(), outbound);
                if leader.hello(now, connection, hello, out) {
                    self.connections.taken(connection, worker.clone());
                    let event = self.setup.facts.attached(&worker, slots, &device, &pool);
                    self.events.extend(event.map(|event| (worker, event)));
                }
            }
            Inbound::Closed { worker, connection } => {
                self.connections.close(connection);
                self.timing.closed(connection);
                leader.closed(now, worker, connection, out);
            }
            Inbound::Unreadable { worker, connection, reason } => {
                leader.unreadable(now, worker, connection, reason, out);
            }
            Inbound::Frame { worker, connection, frame } => {
                match leader.frame(now, worker.clone(), connection, frame, out) {
                    FrameContent::Nothing => {}
                    FrameContent::Asks => self.timing.asks(connection, Instant::now()),
                    FrameContent::Results { count } => {
                        self.setup.facts.results(&worker, count);
                        self.tell_of_samples();
                    }
                    FrameContent::Report { report } => {
                        self.setup.board.report(&report);
                        let (samples, seconds) = self.setup.facts.report(&worker, *report);
                        self.timing.ran(samples, seconds);
                        // Its grant has ended, and what the worker wants is not told again.
                        self.timing.asks(connection, Instant::now());
                    }
                    FrameContent::Waiting { reason } => self.setup.facts.waiting(&worker, reason),
                    FrameContent::Facts { model, facts } => {
                        let event = self.setup.facts.model(&worker, model, &facts);
                        self.events.extend(event.map(|event| (worker, event)));
                        self.tell_of_samples();
                    }
                }
            }
        }
    }

    /// Once a model is loaded, or a result is there: the set-up is right, and samples run.
    fn tell_of_samples(&mut self) {
        if self.setup.debug && !self.told_of_samples {
            self.told_of_samples = true;
            print_status("Starting inference process");
        }
    }

    /// Tells the scheduler whether workers may still come, when that has changed.
    async fn tell_supply(&mut self) -> Result<(), DriveError> {
        let leader = &self.setup.leader;
        let is_coming = |report: &PoolReport| {
            let here = report.workers.iter().filter(|worker| leader.is_connected(worker)).count() as u32;
            report.given_up.is_none() && report.target.max(report.live()) > here
        };
        let has_given_up = self.setup.given_up.borrow().is_some();
        let supply = match self.setup.pools.borrow().iter().any(is_coming) && !has_given_up {
            true => Supply::Ordered,
            false if self.setup.others_may_come => Supply::Possible,
            false => Supply::None,
        };
        if self.supply.replace(supply) == Some(supply) {
            return Ok(());
        }
        self.apply(Event::Supply(supply)).await
    }

    async fn answer(&mut self, ask: JobCommand) -> Result<(), DriveError> {
        // The asking client may have gone away.
        match ask {
            JobCommand::Apply(event) => {
                let exited = matches!(event, Event::Exited { .. });
                if let Event::Exited { worker, wanted: false } = &event {
                    self.setup.facts.ended(worker);
                }
                self.apply(event).await?;
                if exited {
                    self.keep_tally(false)?;
                }
                self.show();
            }
            JobCommand::Job(reply) => drop(reply.send(self.reasons())),
            JobCommand::Task(task, reply) => drop(reply.send(self.setup.leader.core().explain_task(task))),
            JobCommand::Worker(worker, reply) => drop(reply.send(self.setup.leader.core().explain_worker(&worker))),
        }
        Ok(())
    }

    /// Returns the reasons for which nothing more of the job is running.
    fn reasons(&self) -> JobReasons {
        let leader = &self.setup.leader;
        JobReasons {
            shortage: leader.core().shortage(),
            launchers: explain_missing(&self.setup.pools.borrow(), |worker| leader.is_connected(worker)),
            lines: leader.core().explain_job(),
        }
    }

    /// Makes durable what befell the run, when something did: the next leader goes on from there. How long it lasts is told
    /// every minute, and at the end.
    fn keep_tally(&mut self, is_end: bool) -> Result<(), DriveError> {
        let tally = self.count().tally();
        let is_time = is_end || tally.milliseconds >= self.tally.milliseconds + TALLY_MS;
        let is_same = Tally { milliseconds: self.tally.milliseconds, ..tally.clone() } == self.tally;
        let epoch = Epoch(self.setup.facts.epoch);
        let mut entries = Vec::new();
        for (worker, event) in self.events.drain(..) {
            entries.push(event.entry(&worker, epoch).map_err(DriveError::Tally)?);
        }
        if is_time || !is_same {
            entries.push(tally.entry(epoch).map_err(DriveError::Tally)?);
            self.tally = tally;
        }
        // They have no number of their own, since nothing waits for them.
        let of = |entry| Submission { seq: self.last, content: Content::Entry(entry) };
        let entries: Vec<Submission> = entries.into_iter().map(of).collect();
        if entries.is_empty() { Ok(()) } else { self.submit(entries) }
    }

    async fn apply(&mut self, event: Event) -> Result<(), DriveError> {
        let now = self.clock.now_ms(Instant::now());
        let mut out = std::mem::take(&mut self.submissions);
        self.setup.leader.apply(now, event, &mut out);
        self.carry(&mut out);
        self.submit(out)
    }

    /// Never waits: a store that is away must not keep the master from answering its workers, whose leases it renews.
    fn submit(&mut self, mut out: Vec<Submission>) -> Result<(), DriveError> {
        self.last = out.last().map_or(self.last, |submission| submission.seq);
        if !out.is_empty() {
            self.timing.submitted(self.last, Instant::now());
        }
        self.waiting.extend(out.drain(..));
        self.submissions = out;
        self.submit_waiting()
    }

    fn submit_waiting(&mut self) -> Result<(), DriveError> {
        let submitted = self.setup.committer.submit_from(&mut self.waiting);
        submitted.map_err(|_| commit_error(&self.setup.durability))
    }

    fn publish(&mut self) {
        self.published = Instant::now();
        let snapshot = self.snapshot();
        self.setup.board.publish(snapshot);
    }

    /// Returns how far the job is, what failed counted again.
    fn snapshot(&mut self) -> Snapshot {
        self.count_failed();
        let progress = self.setup.leader.core().progress();
        let Failed { samples: failed, given_up, .. } = self.failed;
        Snapshot { recorded: progress.recorded, failed, given_up, slots: progress.slots }
    }

    /// Returns the record of the run with what befell it by now.
    fn count(&mut self) -> &RunFacts {
        let Setup { leader, facts, .. } = &mut self.setup;
        facts.count(&leader.core().progress(), leader.violations(), self.started.elapsed());
        facts
    }

    /// Counts what failed. A pass over all tasks: where there is something to count, and at the end.
    fn count_failed(&mut self) {
        let (core, recorded) = (self.setup.leader.core(), self.setup.leader.failed());
        let counted_of = (core.failed_tasks(), recorded.samples);
        if self.failed.counted_of != counted_of || core.progress().open_tasks == 0 {
            let epoch = self.setup.facts.epoch;
            let given_up = core.failed_task_ids().filter(|task| !recorded.tasks.contains(&(epoch, task.0)));
            let (tasks, samples) = (given_up.count() + recorded.tasks.len(), core.failed_samples());
            self.failed =
                Failed { tasks: tasks as u32, samples: samples + recorded.samples, given_up: samples, counted_of };
        }
    }

    /// Renews the view; also when nothing changed, since its age tells whether the driver lives.
    fn show(&mut self) {
        let begun = Instant::now();
        self.count();
        let snapshot = self.snapshot();
        let Setup { leader, board, facts, .. } = &self.setup;
        let (core, progress) = (leader.core(), leader.core().progress());
        let mut pools = explain_now(&self.setup.pools.borrow(), |worker| leader.is_connected(worker));
        let is_only_way = pools.is_empty();
        pools.extend(self.setup.open_at.as_ref().map(|open_at| how_to_join(open_at, is_only_way)));
        let view = facts.view(|name| leader.is_connected(&WorkerId(name.into())));
        let tokens = view.tokens.computed + view.tokens.generated;
        if snapshot.is_waiting(view.expected_samples) {
            self.samples.wait(begun, view.recorded_samples);
            self.tokens.wait(begun, tokens);
        }
        let view = RunView {
            failed_samples: snapshot.failed,
            given_up_samples: snapshot.given_up,
            samples_per_second: self.samples.rate_with(begun, view.recorded_samples),
            tokens_per_second: self.tokens.rate_with(begun, tokens),
            open_tasks: progress.open_tasks,
            granted_tasks: progress.granted,
            failed_tasks: self.failed.tasks,
            slots: progress.slots,
            // Of this term alone.
            violations: leader.violations(),
            live: board.live(core.recorded_by_unit(), core.copied_by_unit()),
            latencies: self.timing.latencies.clone(),
            pools,
            renewed: Some(Instant::now()),
            ..view
        };
        let (shortage, waits) = match view.waiting_tasks() {
            0 => (None, Vec::new()),
            _ => (core.shortage(), core.explain_waits()),
        };
        self.setup.views.send_replace(RunView { shortage, waits, ..view });
        self.setup.demands.publish(core);
        self.show_again = begun + begun.elapsed() * REST;
    }

    /// Tells every worker that the run is over and gives the frames a moment to leave.
    async fn farewell(&mut self, ending: Ending) {
        if ending == Ending::Finished && self.setup.dismisses {
            self.setup.leader.dismiss();
            // A worker that cannot take it finds the port closed.
            let _ = self.carry_out();
        }
        if ending == Ending::Interrupted {
            let mut out = Vec::new();
            self.setup.leader.shut_down("the master was asked to stop", &mut out);
            self.carry(&mut out);
            // If it cannot be made durable, the next leader waits for workers that do not come.
            let _ = self.submit(out);
        }
        let deadline = Instant::now() + FAREWELL;
        let mut open = self.setup.leader.connected();
        while open > 0 && Instant::now() < deadline {
            match tokio::time::timeout(FAREWELL, self.setup.inbound.recv()).await {
                Ok(Some(Inbound::Closed { .. })) => open -= 1,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
    }
}
