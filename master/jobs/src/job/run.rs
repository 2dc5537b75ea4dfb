//! The stages of a job, one after the other: samples, programs, scores, table.

use super::failure::Failure;
use super::opening::{OpenedRun, read_plan};
use super::request::{JobRequest, Mode};
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, print, print_status, report};
use compass_common::words::grouped;
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_launch::Programs;
use compass_plan::Plan;
use compass_run::{Ending, InferOptions, JobHandle, LiveWriting, RunTerm, WorkerSource};
use compass_run_folder::ReadPlan;
use compass_scoring::Answers;
use compass_settings::Config;
use compass_store::StoreTimeouts;
use compass_types::ids::{Digest, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

/// Columns of the table in a notice.
const NOTICE_WIDTH: usize = 120;

/// Runs the job in `opened` to its end and returns the exit code. `interrupted` turns to the code of a signal that asks the process to
/// stop.
///
/// # Errors
/// What stopped it; all that was recorded stays, and the run can be resumed.
pub async fn run(
    config: Config,
    request: &JobRequest,
    opened: &OpenedRun,
    place: &JobEnvironment,
    interrupted: watch::Receiver<Option<u8>>,
) -> Result<u8, Failure> {
    let ReadPlan { plan, digest, files } = match &opened.plan {
        Some(read) => read.clone(),
        None => read_plan(&opened.folder)?,
    };
    let over = CancellationToken::new();
    let _guard = over.clone().drop_guard();
    let job = Job { request, opened, plan, digest, interrupted, over };
    let has_programs = compass_planning::has_programs(&job.plan);
    let options = InferOptions {
        debug: request.debug,
        predictions: match request.mode {
            Mode::Infer => LiveWriting::UntilTheEnd,
            _ => LiveWriting::Meanwhile,
        },
        interrupted: job.cancelled_by_signals(),
        stage: "infer",
        programs: Programs::None,
        workers_stay: place.workers_stay || has_programs && request.mode == Mode::All,
        others_may_come: false,
        job_handle: place.job_handle.clone(),
        source: place.source.clone(),
        timeouts: StoreTimeouts::default(),
        retries_failed: request.reuse.is_some(),
    };
    let mut answered =
        Answered { failures: Vec::new(), diverged: 0, term: None, answers: None, write: request.mode != Mode::Viz };
    if request.infers() {
        answered = Box::pin(job.infer(&config, files, options.clone())).await?;
    }
    if request.mode == Mode::Infer {
        conclude(answered.term).await?;
        let folder = &opened.folder;
        print_status(format!("predictions are in {}; score them with -m eval -r {}", folder.shown(), folder.name()));
        if answered.diverged > 0 {
            report(Diagnostic::error(format!(
                "{} results differ from the recorded ones, on devices of one type; logs/run.json names them",
                answered.diverged
            )));
        }
        if compass_planning::is_refused(&answered.failures) {
            return Ok(exit::BAD_INPUT);
        }
        let is_whole = answered.failures.is_empty() && answered.diverged == 0 && config.left_out.is_empty();
        return Ok(if is_whole { exit::SCORED } else { exit::INCOMPLETE });
    }
    let answers = match answered.answers.take() {
        Some(answers) => answers,
        None => {
            let recorded = compass_run::recorded_lengths(&config, &opened.folder, digest, answered.term.as_ref()).await;
            let recorded = recorded.map_err(|error| Failure::of_store(&error))?;
            let read = block_in_place(|| Answers::read(&opened.folder, digest, &recorded));
            read.map_err(|error| Failure::of_score(&error.into(), &opened.folder, request))?
        }
    };
    let mut executions = compass_scoring::Executions::default();
    if has_programs {
        let options = compass_run::execution_options(&config, request.unsafe_local_exec, place.workers_stay, options);
        let options = answered.write.then_some(options);
        match Box::pin(job.execute(&config, &answers, answered.term.as_ref(), options)).await? {
            Some(executed) => executions = executed,
            None => {
                hand_over(answered.term).await;
                return Err(job.interruption());
            }
        }
    }
    place.job_handle.doing("score");
    job.score(&config, place, answered, answers, executions).await
}

/// Surroundings in which a job runs.
#[derive(Clone, Debug)]
pub struct JobEnvironment {
    /// Handle through which others ask for its state.
    pub job_handle: JobHandle,
    /// Source of its workers.
    pub source: Arc<dyn WorkerSource>,
    /// Set if other jobs follow, for which workers are to stay.
    pub workers_stay: bool,
}

struct Job<'a> {
    request: &'a JobRequest,
    opened: &'a OpenedRun,
    plan: Arc<Plan>,
    digest: Digest,
    interrupted: watch::Receiver<Option<u8>>,
    /// Cancelled once the job has ended.
    over: CancellationToken,
}

/// Outcome of inference.
struct Answered {
    failures: Vec<(UnitId, IntervalSet, String)>,
    /// Results that differ from the recorded ones although both come from devices of one type.
    diverged: usize,
    term: Option<RunTerm>,
    /// Contents of the ledger, where inference has read it.
    answers: Option<Answers>,
    /// Set if results are this master's to write.
    write: bool,
}

impl Job<'_> {
    /// Cancelled when a signal asks the process to stop.
    fn cancelled_by_signals(&self) -> CancellationToken {
        let (stop, over) = (CancellationToken::new(), self.over.clone());
        let (mut signals, cancelled) = (self.interrupted.clone(), stop.clone());
        tokio::spawn(over.run_until_cancelled_owned(async move {
            // An error means that no signal is watched any more.
            if signals.wait_for(Option::is_some).await.is_ok() {
                cancelled.cancel();
            }
        }));
        stop
    }

    fn interruption(&self) -> Failure {
        let hint = self.request.resume_hint(&self.opened.folder);
        let code = (*self.interrupted.borrow()).unwrap_or(exit::INTERRUPTED);
        Failure::new(code, Diagnostics::sentence(format!("stopped; every sample received is kept. {hint}")))
    }

    async fn infer(
        &self,
        config: &Config,
        files: BTreeMap<Digest, PathBuf>,
        options: InferOptions,
    ) -> Result<Answered, Failure> {
        let folder = &self.opened.folder;
        let samples = grouped(self.plan.expected());
        print_status(format!("run {}: {samples} samples, job {}", folder.shown(), self.digest.short()));
        compass_planning::estimates(&self.plan).into_iter().for_each(print_status);
        let inferred =
            Box::pin(compass_run::infer(config, folder, self.plan.clone(), self.digest, files, options)).await;
        let inferred = inferred.map_err(|error| Failure::of_inference(&error, folder, self.request))?;
        if inferred.ending == Ending::EndedByAnother {
            print_status("the run was brought to its end by the master that led it");
        }
        if inferred.ending == Ending::Interrupted {
            hand_over(inferred.term).await;
            return Err(self.interruption());
        }
        let write = inferred.ending != Ending::EndedByAnother;
        let (failures, diverged) = (inferred.failures, inferred.diverged);
        Ok(Answered { failures, diverged, term: inferred.term, answers: inferred.answers, write })
    }

    /// Runs the programs that the answers are; `None` when a signal asked to stop.
    async fn execute(
        &self,
        config: &Config,
        answers: &Answers,
        term: Option<&RunTerm>,
        options: Option<InferOptions>,
    ) -> Result<Option<compass_scoring::Executions>, Failure> {
        let OpenedRun { folder, earlier, .. } = self.opened;
        let (earlier, plan) = (earlier.as_ref(), &*self.plan);
        let source = compass_run::Source { folder, earlier, plan, answers, term };
        let executed = Box::pin(compass_run::execute(config, source, options)).await;
        let executed = executed.map_err(|error| Failure::of_execution(&error, folder, self.request))?;
        Ok((executed.ending != Ending::Interrupted).then_some(executed.executions))
    }

    async fn score(
        &self,
        config: &Config,
        place: &JobEnvironment,
        answered: Answered,
        answers: Answers,
        executions: compass_scoring::Executions,
    ) -> Result<u8, Failure> {
        let (folder, request) = (&self.opened.folder, self.request);
        let mut bar = compass_progress::StageBar::new("eval", self.plan.expected());
        let write = answered.write.then_some(request.details);
        let mut notes = compass_planning::notes(&self.plan, &answers);
        notes.extend(compass_planning::remarks(folder, &self.plan));
        let is_refused = compass_planning::is_refused(&answered.failures);
        let evidence = compass_scoring::Evidence { answers, failures: &answered.failures, executions };
        let advance = &mut |samples| bar.advance(samples);
        let scored = block_in_place(|| compass_scoring::score(folder, &self.plan, evidence, write, advance));
        bar.finish();
        let scored = scored.map_err(|error| Failure::of_score(&error, folder, request))?;
        let scored = scored
            .with_groups(&config.summary_groups, config.summary_rows.as_deref())
            .without(&config.left_out)
            .noting(notes);
        let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
        compass_scoring::summarize(folder, &scored, &stamp)
            .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
        // A job of a server speaks to a client whose terminal it does not know.
        let width = if request.served { None } else { terminal_width() };
        let printed = print(width.map_or_else(|| scored.summary.text(), |width| scored.summary.within(width)) + "\n");
        place.job_handle.keep_table(scored.summary.within(NOTICE_WIDTH));
        for notice in &scored.notices {
            report(notice);
        }
        print_status(format!("results, predictions and logs: {}", folder.shown()));
        conclude(answered.term).await?;
        // Last, so that everything else is written and said by now.
        printed.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
        Ok(match scored.complete {
            _ if is_refused => exit::BAD_INPUT,
            true => exit::SCORED,
            false => exit::INCOMPLETE,
        })
    }
}

/// Gives the lead back at the end of a run.
async fn conclude(term: Option<RunTerm>) -> Result<(), Failure> {
    match term {
        Some(term) => term.conclude().await.map_err(|error| Failure::of_store(&error)),
        None => Ok(()),
    }
}

/// Gives the lead back in the middle of a run.
async fn hand_over(term: Option<RunTerm>) {
    if let Some(term) = term {
        term.hand_over().await;
    }
}
