//! Pages of recorded runs, each also as JSON. Runs are read on threads of their own, few at a time: no scheduler waits for
//! a page.

use super::pages::{self, Narrowed};
use super::requests::Asked;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use compass_cli::exit;
use compass_compare::leaderboard::{Board, board_body, board_json};
use compass_compare::report::{html_body, json as comparison_json};
use compass_compare::{ClusterBy, Comparison, Flip, Options};
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_recorded::compare::{board_of, compared, read_run, step_pattern};
use compass_recorded::runs::{self, failures};
use compass_recorded::why::{WhyQuery, gather};
use compass_recorded::{Filter, Key, OpenedRun, RunLog, STEP, SampleQuery, Shelf};
use compass_run_folder::RunFolder;
use compass_scoring::{ScoreError, latest_summary, latest_table_within};
use compass_settings::Correction;
use maud::Markup;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Runs on a board at most: the latest.
const BOARD: usize = 32;
/// Flips of each data set.
const FLIPS: usize = 10;
/// Runs that are read at once: the scheduler shares the processor with them.
const READERS: usize = 1;
/// Characters of a table's line.
const WIDTH: usize = 200;

/// Source of the pages of runs.
pub(super) struct RunPages {
    shelf: Shelf,
    /// Folders that may have become more.
    work_dirs: Box<dyn Fn() -> Vec<PathBuf> + Send + Sync>,
    readers: Semaphore,
}

impl RunPages {
    pub(crate) fn new(work_dirs: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        Self { shelf: Shelf::default(), work_dirs: Box::new(work_dirs), readers: Semaphore::new(READERS) }
    }

    fn shelf(&self) -> &Shelf {
        (self.work_dirs)().iter().for_each(|folder| self.shelf.add(folder));
        &self.shelf
    }
}

type Shown = State<Arc<RunPages>>;

pub(super) fn router(pages: Arc<RunPages>) -> Router {
    Router::new()
        .route("/runs", get(all))
        .route("/runs.json", get(all_json))
        .route("/runs/{run}", get(one))
        .route("/runs/{run}/samples", get(samples))
        .route("/runs/{run}/samples.json", get(samples_json))
        .route("/runs/{run}/samples/{key}", get(sample))
        .route("/runs/{run}/why", get(why))
        .route("/runs/{run}/why.json", get(why_json))
        .route("/runs/{run}/failures", get(failed))
        .route("/runs/{run}/failures.json", get(failed_json))
        .route("/runs/{run}/logs", get(logs))
        .route("/runs/{run}/logs.json", get(logs_json))
        .route("/runs/{run}/logs/{*name}", get(log))
        .route("/compare", get(comparison))
        .route("/compare.json", get(comparison_as_json))
        .route("/leaderboard", get(leaderboard))
        .route("/leaderboard.json", get(leaderboard_as_json))
        .with_state(pages)
}

/// Reads something of a run; the answer where it cannot be read.
async fn reading<T: Send + 'static>(
    pages: &Arc<RunPages>,
    name: String,
    read: impl FnOnce(&OpenedRun) -> Result<T, ScoreError> + Send + 'static,
) -> Result<T, Response> {
    let failed = |why: String| (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response();
    let unknown = (StatusCode::NOT_FOUND, format!("there is no run `{name}`\n"));
    let Ok(_reader) = pages.readers.acquire().await else { return Err(failed("the port is closed".into())) };
    let pages = pages.clone();
    let done = tokio::task::spawn_blocking(move || match pages.shelf().open(&name)? {
        Some(run) => read(&run).map(Some),
        None => Ok(None),
    });
    match done.await {
        Ok(Ok(Some(read))) => Ok(read),
        Ok(Ok(None)) => Err(unknown.into_response()),
        Ok(Err(error)) => Err(failed(Diagnostic::of(&error).to_string())),
        Err(_) => Err(failed("the run cannot be read".into())),
    }
}

fn page(read: Result<Markup, Response>) -> Response {
    read.map_or_else(|answer| answer, IntoResponse::into_response)
}

fn json<T: Serialize>(read: Result<T, Response>) -> Response {
    read.map_or_else(|answer| answer, |read| Json(read).into_response())
}

async fn all(State(pages): Shown, Asked(narrowed): Asked<Narrowed>) -> Response {
    let runs = tokio::task::spawn_blocking(move || pages.shelf().runs()).await.unwrap_or_default();
    pages::runs(&runs, &narrowed).into_response()
}

/// Names of the runs.
async fn names(pages: &Arc<RunPages>) -> Vec<String> {
    let pages = pages.clone();
    let runs = tokio::task::spawn_blocking(move || pages.shelf().runs()).await.unwrap_or_default();
    runs.into_iter().map(|run| run.name).collect()
}

async fn all_json(State(pages): Shown) -> Response {
    Json(tokio::task::spawn_blocking(move || pages.shelf().runs()).await.unwrap_or_default()).into_response()
}

/// A run as JSON: its models and data sets with their samples, and the lines of its table.
#[derive(Debug, Serialize)]
struct RunContents {
    name: String,
    folder: PathBuf,
    units: Vec<UnitContents>,
    /// As in the long form of the table; empty without one.
    table: Vec<serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct UnitContents {
    model: String,
    dataset: String,
    samples: u32,
}

impl From<&OpenedRun> for RunContents {
    fn from(run: &OpenedRun) -> Self {
        let units = run.recorded.plan.units().map(|unit| UnitContents {
            model: unit.model.abbr.clone(),
            dataset: unit.dataset.abbr.clone(),
            samples: unit.dataset.samples,
        });
        let folder = run.folder.root();
        let table = latest_summary(folder).map(|summary| summary.json()).unwrap_or_default();
        Self { name: run.folder.name(), folder: folder.to_owned(), units: units.collect(), table }
    }
}

/// A run by its name, as JSON where the name ends in `.json`.
async fn one(State(pages): Shown, Path(run): Path<String>, Asked(narrowed): Asked<Narrowed>) -> Response {
    if let Some(run) = run.strip_suffix(".json") {
        return json(reading(&pages, run.to_owned(), |run| Ok(RunContents::from(run))).await);
    }
    let others: Vec<String> = names(&pages).await.into_iter().filter(|name| *name != run).collect();
    let read = reading(&pages, run, move |run| {
        Ok(pages::run(run, latest_table_within(run.folder.root(), WIDTH).as_deref(), &others, &narrowed))
    });
    page(read.await)
}

/// Returns why a query is refused: its filter does not exist, which would show everything, or it continues from no sample,
/// which would show the first page.
fn why_refused(query: &SampleQuery) -> Option<String> {
    let names: Vec<&str> = Filter::all().map(Filter::name).collect();
    if !query.filter.is_empty() && !names.contains(&query.filter.as_str()) {
        return Some(format!("there is no filter `{}`; there are {}\n", query.filter, names.join(", ")));
    }
    let is_key = query.after.is_empty() || query.after.parse::<Key>().is_ok();
    (!is_key).then(|| format!("`after={}` is not the key of a sample, such as 0.49\n", query.after))
}

fn refused(query: &SampleQuery) -> Option<Response> {
    why_refused(query).map(|why| (StatusCode::BAD_REQUEST, why).into_response())
}

async fn samples(State(pages): Shown, Path(run): Path<String>, Asked(query): Asked<SampleQuery>) -> Response {
    if let Some(refused) = refused(&query) {
        return refused;
    }
    page(reading(&pages, run, move |run| Ok(pages::samples(run, &query, &query.find(run)?))).await)
}

async fn samples_json(State(pages): Shown, Path(run): Path<String>, Asked(query): Asked<SampleQuery>) -> Response {
    if let Some(refused) = refused(&query) {
        return refused;
    }
    json(reading(&pages, run, move |run| query.find(run)).await)
}

/// A sample by its key, as JSON where the key ends in `.json`.
async fn sample(State(pages): Shown, Path((run, key)): Path<(String, String)>) -> Response {
    let (key, wants_json) = match key.strip_suffix(".json") {
        Some(key) => (key.to_owned(), true),
        None => (key, false),
    };
    let unknown = || (StatusCode::NOT_FOUND, "there is no such sample\n").into_response();
    let Ok(key) = key.parse::<Key>() else { return unknown() };
    match reading(&pages, run.clone(), move |run| run.sample(key)).await {
        Ok(Some(facts)) if wants_json => Json(facts).into_response(),
        Ok(Some(facts)) => pages::sample(&run, &facts).into_response(),
        Ok(None) => unknown(),
        Err(answer) => answer,
    }
}

/// Answers of each class on a page.
const ANSWERS: usize = 10;

fn all_answers() -> WhyQuery {
    WhyQuery { number: ANSWERS, ..WhyQuery::default() }
}

async fn why(State(pages): Shown, Path(run): Path<String>) -> Response {
    page(reading(&pages, run.clone(), move |opened| Ok(pages::why(&run, &gather(opened, &all_answers())?))).await)
}

async fn why_json(State(pages): Shown, Path(run): Path<String>) -> Response {
    json(reading(&pages, run, |opened| gather(opened, &all_answers())).await)
}

async fn failed(State(pages): Shown, Path(run): Path<String>) -> Response {
    page(reading(&pages, run.clone(), move |opened| Ok(pages::failures(&run, &failures(opened)?))).await)
}

async fn failed_json(State(pages): Shown, Path(run): Path<String>) -> Response {
    json(reading(&pages, run, failures).await)
}

/// The logs of a run, which need no plan or ledger that can be read.
async fn logs_of(pages: &Arc<RunPages>, run: String) -> Result<Vec<RunLog>, Response> {
    let unknown = (StatusCode::NOT_FOUND, format!("there is no run `{run}`\n"));
    let found = at_once(pages, move |shelf| Ok(shelf.find(&run).map(|folder| runs::logs(&folder)))).await?;
    found.ok_or_else(|| unknown.into_response())
}

async fn logs(State(pages): Shown, Path(run): Path<String>) -> Response {
    page(logs_of(&pages, run.clone()).await.map(|logs| pages::logs(&run, &logs)))
}

async fn logs_json(State(pages): Shown, Path(run): Path<String>) -> Response {
    json(logs_of(&pages, run).await)
}

/// The end of a log by its name, which only the listing makes a path.
async fn log(State(pages): Shown, Path((run, name)): Path<(String, String)>) -> Response {
    let missing = || (StatusCode::NOT_FOUND, "there is no such log\n").into_response();
    let (of, wanted) = (run.clone(), name.clone());
    let read = at_once(&pages, move |shelf| {
        let Some(folder) = shelf.find(&of) else { return Ok(None) };
        runs::tail(&folder, &wanted).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))
    });
    match read.await {
        Ok(Some(tail)) => pages::log(&run, &name, &tail).into_response(),
        Ok(None) => missing(),
        Err(answer) => answer,
    }
}

/// Two runs by their names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pair {
    a: String,
    b: String,
    /// Models of the first run that another one of the second is, as `a=b`, by blanks or commas.
    models: String,
}

async fn comparison(State(pages): Shown, Asked(pair): Asked<Pair>) -> Response {
    let read = at_once(&pages, move |shelf| pair.compared(shelf));
    page(read.await.map(|(comparison, flips)| pages::report("Comparison", html_body(&comparison, &flips))))
}

async fn comparison_as_json(State(pages): Shown, Asked(pair): Asked<Pair>) -> Response {
    let read = at_once(&pages, move |shelf| pair.compared(shelf));
    json(read.await.map(|(comparison, flips)| comparison_json(&comparison, &flips)))
}

impl Pair {
    /// Returns which of the two names is missing.
    fn lacks(&self) -> Option<&'static str> {
        match (self.a.is_empty(), self.b.is_empty()) {
            (true, true) => Some("`a` and `b` are missing"),
            (true, false) => Some("`a` is missing"),
            (false, true) => Some("`b` is missing"),
            (false, false) => None,
        }
    }

    fn compared(&self, shelf: &Shelf) -> Result<(Comparison, Vec<Flip>), Failure> {
        if let Some(missing) = self.lacks() {
            let help = "name two runs, as in /compare?a=RUN&b=RUN";
            return Err(Failure::bad_input(Diagnostic::error(missing).with_help(help)));
        }
        let folder = |name: &str| {
            let missing = || Failure::bad_input(Diagnostic::error(format!("there is no run `{name}`")));
            shelf.find(name).ok_or_else(missing)
        };
        let models = self.models.split([' ', ',']).filter_map(|pair| pair.split_once('='));
        let options = Options {
            models: models.map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
            metrics: Vec::new(),
            first_metric: true,
            relative: 0.0,
            cluster: ClusterBy::Passage,
            margin: None,
            correction: Correction::Holm,
            confidence: 0.95,
            allow_partial: true,
            flips: FLIPS,
            may_be_empty: false,
        };
        compared((&folder(&self.a)?, &folder(&self.b)?), &options, None, |_| true)
    }
}

/// Settings of a board of the latest runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Curves {
    step: String,
}

async fn leaderboard(State(pages): Shown, Asked(curves): Asked<Curves>) -> Response {
    let read = at_once(&pages, move |shelf| curves.board(shelf));
    page(read.await.map(|board| pages::report("Leaderboard", board_body(&board))))
}

async fn leaderboard_as_json(State(pages): Shown, Asked(curves): Asked<Curves>) -> Response {
    json(at_once(&pages, move |shelf| curves.board(shelf)).await.map(|board| board_json(&board)))
}

impl Curves {
    fn board(&self, shelf: &Shelf) -> Result<Board, Failure> {
        let step = step_pattern(if self.step.is_empty() { STEP } else { &self.step })?;
        let runs = shelf.runs().into_iter().filter(|run| run.scored).take(BOARD);
        let (mut read, mut notes) = (Vec::new(), Vec::new());
        for run in runs {
            let Some(folder) = RunFolder::at(&run.folder) else { continue };
            match read_run(&folder) {
                Ok(data) => read.push(data),
                // In the command's words.
                Err(failure) => {
                    notes.extend(
                        failure.diagnostics.iter().map(|why| format!("{} is left out: {}", run.name, why.message)),
                    );
                }
            }
        }
        let mut board = board_of(&read, &step);
        board.notes.extend(notes);
        Ok(board)
    }
}

/// Makes something of several runs; the answer where that cannot be.
async fn at_once<T: Send + 'static>(
    pages: &Arc<RunPages>,
    make: impl FnOnce(&Shelf) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Response> {
    let failed = |code: StatusCode, why: String| (code, format!("{why}\n")).into_response();
    let closed = || failed(StatusCode::INTERNAL_SERVER_ERROR, "the runs cannot be read".into());
    let Ok(_reader) = pages.readers.acquire().await else { return Err(closed()) };
    let pages = pages.clone();
    match tokio::task::spawn_blocking(move || make(pages.shelf())).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(failure)) => Err(failed(StatusCode::BAD_REQUEST, failure.diagnostics.to_string())),
        Err(_) => Err(closed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_would_show_something_else_are_refused() {
        let query = |filter: &str, after: &str| SampleQuery {
            filter: filter.into(),
            after: after.into(),
            ..SampleQuery::default()
        };
        assert_eq!(why_refused(&query("", "")), None);
        assert_eq!(why_refused(&query("wrong", "0.49")), None);
        let bogus = why_refused(&query("", "bogus")).unwrap();
        assert_eq!(bogus, "`after=bogus` is not the key of a sample, such as 0.49\n");
        assert!(why_refused(&query("wrongg", "")).unwrap().contains("there is no filter `wrongg`"));
    }

    #[test]
    fn a_comparison_says_which_run_is_missing() {
        let said = |a: &str, b: &str| {
            let pair = Pair { a: a.into(), b: b.into(), ..Pair::default() };
            pair.compared(&Shelf::default()).unwrap_err().diagnostics.to_string()
        };
        assert!(said("A", "").contains("`b` is missing") && said("", "B").contains("`a` is missing"));
        assert!(said("", "").contains("`a` and `b` are missing"), "{}", said("", ""));
        assert!(said("A", "B").contains("there is no run `A`"), "{}", said("A", "B"));
    }

    #[test]
    fn a_board_says_which_runs_it_leaves_out() {
        let work_dir = tempfile::tempdir().unwrap();
        let damaged = work_dir.path().join("20261122_000001");
        std::fs::create_dir_all(damaged.join("plan")).unwrap();
        std::fs::write(damaged.join("plan/job.json"), "{}").unwrap();
        std::fs::create_dir_all(damaged.join("summary")).unwrap();
        std::fs::write(damaged.join("summary/long_20261122_000001.csv"), "table").unwrap();
        let shelf = Shelf::default();
        shelf.add(work_dir.path());
        assert!(shelf.runs()[0].scored, "the run has a table");
        let board = Curves::default().board(&shelf).unwrap();
        assert!(board.notes.iter().any(|note| note.starts_with("20261122_000001 is left out: ")), "{:?}", board.notes);
        assert!(board_body(&board).contains("20261122_000001 is left out"));
    }
}
