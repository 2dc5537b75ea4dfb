//! The inference stage: from a plan on disk to a ledger that holds every sample.

use super::drive::{Driven, Driver, Ending, Setup};
use super::infer_error::InferError;
use super::job_handle::{DemandPublisher, JobHandle};
use super::launching::{comes_by_itself, is_open, pool_terms, runner_name, slots, slots_let_in};
use super::lead::{Campaign, Lead, RunTerm, campaign, inherited, lengths};
use super::leader::Leader;
use super::live::{LivePredictions, LiveWriting};
use super::model_placement::where_they_load;
use super::previous_assignments::task;
use super::run_fold::{Inherited, RunFold};
use super::task_list::keep_tasks;
use super::weights_gone;
use super::worker_source::{StageRegistration, StageWorkers, WorkerSource};
use compass_common::encode::{self, EncodeError};
use compass_common::host::host;
use compass_common::status_output::{print_status, report, with_same_log};
use compass_common::words::counted;
use compass_diagnostic::Diagnostic;
use compass_launch::{Programs, is_local};
use compass_ledger::{Committed, Committer, Ledger, Seal, TornEnd};
use compass_plan::partition::{PartitionError, PartitionerKind, TaskSpec, UnitSize, partition};
use compass_plan::{ModelKind, Plan, Unit};
use compass_planning::estimate::learn;
use compass_planning::{SpeedStore, endpoints};
use compass_progress::{ProgressBoard, RunFacts, RunView};
use compass_rpc::{JobKey, RunParameters};
use compass_run_folder::{RunFolder, read_duplicates, write_atomically};
use compass_scheduler::{Duplicates, Labels, Limits, Recorded, Requires, SlotDemand, TaskView, Watch};
use compass_scoring::{Answers, Origins, note_divergences, show_kept};
use compass_settings::Config;
use compass_store::{CoordinationStore, Keys, StoreTimeouts};
use compass_types::ids::{Digest, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

const HEARTBEAT_MS: u32 = 2_000;
/// Longest time in which a remote launcher orders what another worker would need.
const SETTLES_MS: u64 = 5_000;
/// Bytes of weights that are loaded in a millisecond, as long as no load was measured.
const BYTES_PER_MS: u64 = 1_000_000;
/// Time to load a model of which this host has no files, in milliseconds.
const UNKNOWN_LOAD_MS: u64 = 5_000;

/// Returns the time that each model may take to load, as far as the sizes of its files tell.
fn load_times(plan: &Plan) -> BTreeMap<ModelId, u64> {
    let bytes = |path: &str| {
        let files = std::fs::read_dir(path).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
        Some(files.filter(std::fs::Metadata::is_file).map(|file| file.len()).sum::<u64>())
    };
    let real = |kind: ModelKind| !matches!(kind, ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox);
    let models = plan.models().filter(|(_, model)| real(model.kind));
    models.map(|(at, model)| (at, bytes(&model.path).map_or(UNKNOWN_LOAD_MS, |bytes| bytes / BYTES_PER_MS))).collect()
}

/// Options that the command line adds.
#[derive(Clone, Debug)]
pub struct InferOptions {
    /// One slot, the worker's output on this terminal.
    pub debug: bool,
    /// Time at which `predictions/` are written while the stage continues.
    pub predictions: LiveWriting,
    /// Turns true when a signal asks the process to stop.
    pub interrupted: CancellationToken,
    /// Name of the stage on the screen and in the folder of its logs.
    pub stage: &'static str,
    /// Permission to run programs that a model wrote.
    pub programs: Programs,
    /// Set if another stage follows, for which workers are to stay.
    pub workers_stay: bool,
    /// Set if workers of another stage, which are not launched, may take part.
    pub others_may_come: bool,
    /// Handle through which others ask for the state of the job.
    pub job_handle: JobHandle,
    /// Source of its workers.
    pub source: Arc<dyn WorkerSource>,
    /// Longest times for which a store is asked that does not answer.
    pub timeouts: StoreTimeouts,
    /// Set if samples that failed for the reason of a node or an engine are run again, though the run has not ended.
    pub retries_failed: bool,
}

/// Result of a run of the stage.
#[derive(Debug)]
pub struct Inferred {
    pub ending: Ending,
    /// Samples without a result, and why: unit, samples, reason.
    pub failures: Vec<(UnitId, IntervalSet, String)>,
    /// Results that differ from the recorded ones although both come from devices of one type.
    pub diverged: usize,
    /// The lead, to be given back when the table is written; `None` for a master that never had it.
    pub term: Option<RunTerm>,
    /// Contents of the ledger at the stage's end; `None` for a master that does not know.
    pub answers: Option<Answers>,
}

/// The tasks of a job, given what is recorded; `duplicates` are in none.
///
/// # Errors
/// The partitioner's settings make no sense.
pub(super) fn tasks(
    config: &Config,
    plan: &Plan,
    (recorded, duplicates): (&Recorded, &Duplicates),
    slots: u32,
) -> Result<Vec<TaskSpec>, PartitionError> {
    partition(&config.infer.partitioner, &sizes(plan, recorded, duplicates), slots)
}

/// Returns the sizes of a plan's units, and what is left of them.
fn sizes(plan: &Plan, recorded: &Recorded, duplicates: &Duplicates) -> Vec<UnitSize> {
    let mut duplicates = duplicates.by_unit();
    let mut remaining = |unit: &Unit<'_>| {
        let open = IntervalSet::range(0, unit.dataset.samples).minus(&recorded.done(unit.id));
        duplicates.remove(&unit.id).map_or_else(|| open.clone(), |left_out| open.minus(&left_out))
    };
    let size = plan.units().map(|unit| UnitSize {
        id: unit.id,
        model: plan.model_of(unit.id).0 as usize,
        abbr: unit.dataset.abbr.clone(),
        remaining: remaining(&unit),
        samples: unit.dataset.samples,
        factor_labels: unit.dataset.labels,
        generates: unit.dataset.labels.is_none(),
        characters: unit.dataset.characters,
        prefix_runs: unit.dataset.prefix_runs.clone(),
    });
    size.collect()
}

struct Opened {
    leader: Leader,
    committer: Committer,
    durability: watch::Receiver<Committed>,
    facts: RunFacts,
    board: ProgressBoard,
    lead: Lead,
    live: LivePredictions,
}

/// Runs every sample of the plan that the ledger lacks.
///
/// # Errors
/// See [`InferError`]; whatever is durable stays, and the run can be resumed.
pub async fn infer(
    config: &Config,
    folder: &RunFolder,
    plan: Arc<Plan>,
    digest: Digest,
    files: BTreeMap<Digest, PathBuf>,
    options: InferOptions,
) -> Result<Inferred, InferError> {
    let ledger = Ledger::new(folder.ledger(), digest);
    let last_epoch = ledger.last_epoch()?;
    let without_lead = |ending| Inferred { ending, failures: Vec::new(), diverged: 0, term: None, answers: None };
    let waiting = (options.timeouts, &options.job_handle);
    let term = match campaign(config, folder, &digest, last_epoch, waiting, options.interrupted.clone()).await? {
        Campaign::Won(term) => term,
        Campaign::EndedByAnother => return Ok(without_lead(Ending::EndedByAnother)),
        Campaign::Interrupted => return Ok(without_lead(Ending::Interrupted)),
    };
    // Only a leader has ports: on one host, a master that stands by would else need ports of its own.
    let InferOptions { debug, stage, programs, job_handle, source, .. } = options.clone();
    source.open().await?;
    let status = term.status();
    let opened = open(config, folder, *term, ledger, &plan, digest, &options).await?;
    let (wanted, demand) = watch::channel(SlotDemand::default());
    let models = plan.models.iter().map(|model| Ok(Digest::of(&encode::json("a model of the plan", model)?)));
    let models = models.collect::<Result<_, EncodeError>>()?;
    let registration =
        StageRegistration { name: stage, plan: digest, files, models, wanted: demand, config, folder, programs, debug };
    let StageWorkers { inbound, pools, given_up, open_at } = source.enter(registration).await?;
    if let Some(address) = &open_at {
        print_status(format!("waiting for workers: compass-worker --master {address}"));
    }
    let (views, view) = watch::channel(RunView::default());
    let commands = job_handle.open(stage, view, status);
    let stop = CancellationToken::new();
    // Cancels on drop as well: on every early return.
    let stopping = stop.clone().drop_guard();
    let board = opened.board;
    let watching = tokio::spawn(with_same_log(board.show(stage, opened.facts.resumed_samples)));
    let telling = tokio::spawn(weights_gone::tell(plan.clone(), job_handle.clone()));
    let writing = tokio::spawn(opened.live.run(options.predictions, opened.durability.clone(), stop));
    let driver = Driver::new(Setup {
        leader: opened.leader,
        committer: opened.committer,
        durability: opened.durability,
        inbound,
        pools,
        given_up,
        open_at,
        others_may_come: options.others_may_come || comes_by_itself(config),
        dismisses: !options.workers_stay,
        interrupted: options.interrupted,
        board,
        facts: opened.facts,
        views,
        commands,
        demands: DemandPublisher::from(wanted),
        debug: options.debug,
    });
    let driven = Box::pin(driver.run()).await;
    telling.abort();
    job_handle.close();
    source.leave(&digest).await;
    drop(stopping);
    let _ = watching.await;
    // Were it to write on while the run is scored, it could put an older file over the last one.
    let _ = writing.await;
    let driven = driven?;
    // What an estimate stands on: no run fails for it.
    let has_run = driven.facts.recorded_samples > driven.facts.resumed_samples;
    let speeds = SpeedStore::of(&config.store, &config.state_dir);
    if has_run && let Err(error) = learn(&speeds, &plan, &driven.facts).await {
        tracing::warn!(%error, "what this run took is not kept for later estimates");
    }
    left_behind(driven, opened.lead, folder, &plan, digest).await
}

/// Returns the result of a stage, with its facts written.
async fn left_behind(
    driven: Driven,
    lead: Lead,
    folder: &RunFolder,
    plan: &Plan,
    digest: Digest,
) -> Result<Inferred, InferError> {
    let Driven { ending, core, mut facts, store } = driven;
    let mut diverged = 0;
    let mut answers = None;
    if let Some(store) = &store {
        let recorded = lengths(store, &Keys::new(&digest)).await?;
        let (ledger, mut origins) = (Ledger::new(folder.ledger(), digest), Origins::default());
        let read = block_in_place(|| Answers::read_noting(&ledger, &recorded, &mut |entry| origins.take(entry)))?;
        origins.note(&mut facts, plan);
        diverged = note_divergences(&mut facts, plan, &read);
        facts.endpoints = endpoints::usage(plan, &read);
        answers = Some(read);
    }
    for line in [facts.duplicates_line(), facts.tokens_line()].into_iter().flatten() {
        print_status(line);
    }
    if let Some(line) = facts.loads_line() {
        print_status(line);
    }
    let record = encode::pretty_json("the facts of the run", &facts)?;
    write_atomically(&folder.logs().join("run.json"), &record)?;
    let term = store.map(|store| lead.term(store));
    let failures = block_in_place(|| weights_gone::classified(plan, &core, core.failures()));
    Ok(Inferred { ending, failures, diverged, term, answers })
}

/// Begins a term: ledger, segment, tasks, in this order. What earlier leaders recorded is read under this lead, since
/// they could write until then.
async fn open(
    config: &Config,
    folder: &RunFolder,
    term: RunTerm,
    ledger: Ledger,
    plan: &Arc<Plan>,
    digest: Digest,
    options: &InferOptions,
) -> Result<Opened, InferError> {
    let keys = Keys::new(&digest);
    let (lead, mut store) = term.part();
    let opening = inherited(&store, &keys).await?;
    let groups = block_in_place(|| read_duplicates(folder, plan))?;
    // No worker holds anything of leaders whose ledger was sealed at the end.
    let was_led = ledger.last_epoch()? > Seal::read(&folder.ledger())?.epoch;
    let mut fold = RunFold::new(
        plan,
        groups.of_units(plan),
        opening,
        (RunFacts::of_plan(plan), ProgressBoard::new(plan.clone())),
        (options.retries_failed || !was_led, is_open(config)),
    );
    let lengths = fold.lengths().clone();
    let summary = block_in_place(|| ledger.read(&lengths, &mut |entry| fold.take(&entry)))?;
    // A master that is killed leaves such an end behind: what it held was never told.
    for TornEnd { segment, bytes, .. } in summary.torn.iter().filter(|end| end.was_never_recorded) {
        tracing::info!(segment, bytes, "ignored the end of a ledger segment that was never recorded as durable");
    }
    TornEnd::damage(&summary.torn).for_each(|what| report(Diagnostic::warning(what)));
    let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let Inherited { opening, facts, board, pins, costs, failed, reopened, suspects, drawn, unreported } =
        fold.end(summary, now);
    let shown = block_in_place(|| show_kept((folder, plan), (&ledger, &lengths), &unreported, &board));
    shown.unwrap_or_else(|error| tracing::debug!(%error, "live scores are without what was kept"));
    let recorded = opening.recorded();
    let duplicates = Duplicates::beside(groups.of_units(plan), recorded);
    let leadership = lead.leadership.clone();
    let master = format!("{}-{}", host().replace(['/', ' '], "_"), std::process::id());
    let mut segment = ledger.create_segment(leadership.epoch, &master)?.owned_by(lead.owner.clone());
    let again: u64 = reopened.0.values().map(|samples| u64::from(samples.len())).sum();
    if again > 0 {
        segment.append(&reopened.entries(leadership.epoch)?)?;
        print_status(format!(
            "{} failed for the reason of a node or an engine: run again, each on its own",
            counted(again, "sample")
        ));
    }
    let length = segment.durable_length();
    let (job_key, mut first) = opening.first_writes(segment.name(), length, JobKey::random)?;
    if opening.lacks_key() && was_led {
        print_status(
            "the store does not hold this job's key: results that workers still hold from before are run again",
        );
    }
    first.push(lead.introduction()?);
    store.commit(&leadership, first).await?;

    let slots = slots(config, options.debug);
    let sizes: BTreeMap<_, _> = sizes(plan, recorded, &duplicates).into_iter().map(|size| (size.id, size)).collect();
    let (mut views, attempts) = (Vec::new(), opening.attempts());
    let specs = tasks(config, plan, (recorded, &duplicates), slots)?;
    let tasks = keep_tasks(folder, plan, &digest, &specs)?;
    for spec in specs {
        for (unit, samples) in spec.pieces {
            let Some(known) = plan.unit(unit) else { continue };
            let attempt = attempts.get(&task(unit, &samples)).copied().unwrap_or_default();
            let model = plan.model_of(unit);
            let sample_cost = sizes.get(&unit).map_or(1, UnitSize::sample_cost);
            let requires = match known.model.kind {
                ModelKind::Echo | ModelKind::Endpoint => Requires::Echo,
                ModelKind::Sandbox => Requires::Sandbox,
                _ => Requires::Engine,
            };
            let shared_cost = sizes.get(&unit).map_or(0, |size| size.shared_cost(&samples));
            views.push(TaskView { unit, model, requires, samples, attempt, sample_cost, shared_cost });
        }
    }
    let max_slots = slots_let_in(config, slots, options.others_may_come);
    let split = config.infer.partitioner == PartitionerKind::Balanced;
    let places = where_they_load(&config.pools, options.source.placements());
    let lease_ms = config.worker_lease.as_millis() as u64;
    let limits = Limits {
        lease_ttl: lease_ms,
        silence: lease_ms / 2,
        retry: config.infer.runner.retry,
        max_slots,
        split,
        others_may_come: options.others_may_come || comes_by_itself(config),
        unschedulable: config.infer.runner.unschedulable_timeout.as_millis() as u64,
        settles: if is_open(config) { SETTLES_MS } else { 0 },
        load_ms: load_times(plan),
        // The driver dismisses them, once it has heard all that they have to say.
        workers_stay: true,
        places,
        most_workers: plan
            .models()
            .filter_map(|(at, model)| Some((at, model.endpoint.as_ref()?.budget.workers)))
            .collect(),
        ..Limits::default()
    };
    let facts = RunFacts {
        run: lead.run_name(),
        plan: digest.to_string(),
        epoch: leadership.epoch.0,
        duplicate_samples: groups.of_units(plan).map(|group| group.len() as u64 - 1).sum(),
        partitioner: encode::value("the partitioner", &config.infer.partitioner)?,
        summarizer: "default".into(),
        runner: runner_name(config),
        tasks,
        left_out: config.left_out.clone(),
        ..facts
    };
    let mut units = RunParameters::units_of(plan);
    for (unit, samples) in suspects {
        if let Some(unit) = units.get_mut(&unit) {
            unit.suspects = samples;
        }
    }
    for (unit, answers) in drawn {
        if let Some(unit) = units.get_mut(&unit) {
            unit.drawn = answers;
        }
    }
    let terms = RunParameters {
        plan: digest,
        epoch: leadership.epoch,
        lease_ttl_ms: limits.lease_ttl as u32,
        // Several within a lease, however short it is.
        heartbeat_ms: HEARTBEAT_MS.min(lease_ms as u32 / 10),
        engine_timeout_ms: u32::try_from(config.infer.runner.engine_timeout.as_millis()).unwrap_or(u32::MAX),
        pools: pool_terms(config),
        key: job_key,
        units,
    };
    let done = plan.units().map(|unit| (unit.id, recorded.done(unit.id)));
    let watch = Watch::new(done.collect::<Vec<_>>());
    let labels = Labels {
        models: plan.models.iter().map(|model| model.abbr.clone()).collect(),
        datasets: plan.datasets.iter().map(|dataset| dataset.abbr.clone()).collect(),
    };
    let (assignment_log, recorded_lengths) = (opening.assignment_log(leadership.epoch), opening.lengths().clone());
    // Agents on this host end with their master; all others may still hold what they were granted.
    let may_hold = |worker: &WorkerId| is_open(config) && !is_local(worker);
    let core = opening.core(leadership.epoch, limits, views, (duplicates, labels), may_hold);
    let leader = Leader::new(core, terms, keys.clone(), watch).with_pins(pins).with_costs(costs).with_failed(failed);
    let epoch = leadership.epoch;
    let (reports, durability) = watch::channel(Committed { length, ..Committed::default() });
    let live = LivePredictions {
        folder: folder.clone(),
        plan: plan.clone(),
        ledger: ledger.until(epoch),
        recorded: recorded_lengths,
        segment: segment.name().to_owned(),
    };
    let committer =
        Committer::start(store, leadership, keys, assignment_log, segment, reports).map_err(InferError::Thread)?;
    Ok(Opened { leader, committer, durability, facts, board, lead, live })
}
