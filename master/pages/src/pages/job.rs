//! The page of a job: how far it is, by data set, with scores so far; its workers; what may trouble it.

use super::layout::layout;
use super::part::{Part, sections};
use super::text::visible;
use compass_common::words::{counted, duration};
use compass_jobs::{Ended, JobView};
use compass_progress::{LiveMetric, RunView, WorkerView};
use maud::{Markup, html};

/// Rows of a table at most: a page has the same weight whatever the job.
const ROWS: usize = 100;
/// Reasons for which tasks wait that a page shows at most.
const REASONS: usize = 12;

/// Rows that are shown: those with all of these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Narrowed {
    #[serde(default)]
    pub q: String,
}

impl Narrowed {
    /// A path of this port that narrows as this one does.
    pub(crate) fn path(&self, path: &str) -> String {
        if self.q.is_empty() {
            return path.to_owned();
        }
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", &self.q).finish();
        format!("{path}?{query}")
    }

    /// Returns whether a row with this text is shown.
    pub(crate) fn takes(&self, row: &str) -> bool {
        let row = row.to_lowercase();
        self.q.to_lowercase().split_whitespace().all(|word| row.contains(word))
    }
}

/// The page of a job.
pub(crate) fn job(view: &JobView, narrowed: &Narrowed) -> Markup {
    let body = html! {
        p { a href="/" { "all jobs" } }
        (narrowing(narrowed))
        (sections(&job_parts(view, narrowed)))
    };
    let events = narrowed.path(&format!("/jobs/{}/events", view.job));
    layout(&format!("{} - Compass", view.run.run), Some(&events), &body)
}

/// The field that narrows the scores: at once by the page's script, without one when it is sent.
pub(super) fn narrowing(narrowed: &Narrowed) -> Markup {
    html! {
        form method="get" {
            input id="filter" name="q" type="search" value=(narrowed.q) placeholder="model or data set" autocomplete="off"
                aria-label="show only scores of rows with these words";
        }
    }
}

/// The parts of the page of a job.
pub(crate) fn job_parts(view: &JobView, narrowed: &Narrowed) -> Vec<Part> {
    vec![
        ("progress", progress(view)),
        ("scores", scores(&view.run.live, narrowed)),
        ("workers", workers(&view.run)),
        ("facts", facts(&view.run)),
    ]
}

fn progress(view: &JobView) -> Markup {
    let JobView { state, run, .. } = view;
    let (done, all) = (run.recorded_samples, run.expected_samples);
    let failed = if run.failed_samples > 0 { format!(", {} failed,", run.failed_samples) } else { String::new() };
    let counts = format!("{done} of {all} samples{failed} in {}", duration(run.seconds));
    html! {
        h2 { (run.run) }
        @if let Some(ended) = ended(view) {
            p { (ended) "; " (counts) ", " (counted(run.failed_tasks, "task")) " failed" }
        } @else if run.expected_samples == 0 {
            p { (state) ": no stage has begun, so nothing is known of its samples yet" }
        } @else {
            p {
                (state) ": " (counts) ", " (remaining(view)) "; "
                (counted(run.granted_tasks, "task")) " at work, " (run.waiting_tasks()) " waiting, " (run.failed_tasks) " failed"
            }
        }
        @if let Some(reason) = view.reason() { p.fault { (visible(reason)) } }
        @if let Some(help) = view.help() { p { "help: " (visible(help)) } }
        @if let Some(reason) = &view.cancelled { p { "cancelled: " (visible(reason)) } }
        progress max=(all) value=(done) aria-label="samples" {}
        @if view.ended.is_none() { @for pool in &run.pools { p { (pool) } } }
        (waits(&run.waits))
        @if !run.run.is_empty() {
            p {
                a href={ "/runs/" (run.run) "/samples" } { "samples" } ", "
                a href={ "/runs/" (run.run) "/samples?filter=wrong" } { "wrong ones" } ", "
                a href={ "/runs/" (run.run) "/failures" } { "failures" } ", "
                a href={ "/runs/" (run.run) "/logs" } { "logs" }
            }
        }
    }
}

/// Shows why tasks wait, as `explain job` does.
fn waits(reasons: &[String]) -> Markup {
    html! {
        @if !reasons.is_empty() {
            p { "Why tasks wait:" }
            ul {
                @for reason in reasons.iter().take(REASONS) { li { (visible(reason)) } }
                @if reasons.len() > REASONS { li { (reasons.len() - REASONS) " more reasons: compass-master explain job has all" } }
            }
        }
    }
}

/// Describes how and when it ended, once it has.
fn ended(view: &JobView) -> Option<String> {
    let Ended { exit_code, at, .. } = view.ended.as_ref()?;
    let how = if view.cancelled.is_some() { "cancelled, ended" } else { "ended" };
    Some(format!("{how} at {at} with exit code {exit_code}"))
}

/// Describes when it will end at its present speed.
fn remaining(view: &JobView) -> String {
    let RunView { expected_samples, recorded_samples, given_up_samples, .. } = &view.run;
    let RunView { samples_per_second, tokens_per_second, .. } = &view.run;
    match view.eta_seconds() {
        _ if expected_samples <= recorded_samples => "all there".to_owned(),
        _ if *expected_samples <= recorded_samples + given_up_samples => "nothing more will come".to_owned(),
        Some(left) => {
            // Tokens come with the reports of whole tasks, later than the first samples.
            let tokens = match *tokens_per_second > 0.0 {
                true => format!(" and {tokens_per_second:.0} tokens/s"),
                false => String::new(),
            };
            format!("{} left at {samples_per_second:.1} samples/s{tokens}", duration(left))
        }
        None if view.cancelled.is_some() => "no more are wanted".to_owned(),
        None => "no new one of late".to_owned(),
    }
}

fn row(metric: &LiveMetric) -> String {
    format!("{} {} {}", metric.model, metric.dataset, metric.metric)
}

fn scores(live: &[LiveMetric], narrowed: &Narrowed) -> Markup {
    let taken: Vec<&LiveMetric> = live.iter().filter(|metric| narrowed.takes(&row(metric))).collect();
    let heads = ["model", "data set", "", "samples", "failed", "metric", "so far", "95 %", "n", "copied"];
    html! {
        table.wide {
            thead { tr { @for head in heads { th { (head) } } } }
            tbody {
                @for metric in taken.iter().take(ROWS) {
                    tr {
                        td { (metric.model) }
                        td { (metric.dataset) }
                        td { progress max=(metric.expected) value=(metric.recorded) aria-label="samples" {} }
                        td.n { (metric.recorded) "/" (metric.expected) }
                        td.n.fault[metric.failed > 0] { (metric.failed) }
                        td { (or_dash((!metric.metric.is_empty()).then_some(&metric.metric))) }
                        td.n { (or_dash(metric.value.map(|value| format!("{value:.2}")))) }
                        td.n { (or_dash(metric.interval.map(|(low, high)| format!("{low:.1} to {high:.1}")))) }
                        td.n { (or_dash((metric.scored > 0).then_some(metric.scored))) }
                        td.n { @if metric.copied > 0 { (metric.copied) } }
                    }
                }
            }
        }
        @if live.iter().any(|metric| metric.copied > 0) {
            p { "Copied samples ask what another one asks and are recorded with its result; the score so far does not count them." }
        }
        @if taken.len() > ROWS {
            p { (taken.len() - ROWS) " more rows: write some words of them into the field above and press Enter" }
        }
    }
}

/// Returns the value, or a dash if it is unknown.
fn or_dash(known: Option<impl ToString>) -> String {
    known.map_or_else(|| "-".to_owned(), |known| known.to_string())
}

fn workers(view: &RunView) -> Markup {
    html! {
        table.wide {
            thead { tr { @for head in ["worker", "state", "pool", "device", "slots", "results", "by minute", "busy", "deaths"] { th { (head) } } } }
            tbody {
                @for worker in view.workers.iter().take(ROWS) {
                    tr {
                        td { (worker.name) }
                        td { @if worker.connected { "connected" } @else { "away" } }
                        td { (worker.pool) }
                        td { (worker.device) }
                        td.n { (worker.slots) }
                        td.n { (worker.results) }
                        td { (bars(&worker.by_minute)) }
                        td.n { (or_dash(busy(worker))) }
                        td.n { (worker.deaths) }
                    }
                }
            }
        }
        @if view.workers.len() > ROWS { p { (view.workers.len() - ROWS) " more workers: /status.json has all" } }
    }
}

/// Returns the busy share of a worker, once it has reported a task.
fn busy(worker: &WorkerView) -> Option<String> {
    let share = worker.busy_share().filter(|_| worker.busy_seconds > 0.0)?;
    Some(format!("{:.0} %", 100.0 * share))
}

/// Counts as bars, the largest as high as the picture; read aloud as numbers.
fn bars(counts: &[u64]) -> Markup {
    const WIDTH: usize = 5;
    const HEIGHT: u64 = 16;
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let path: String = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(at, count)| {
            let height = (count * HEIGHT).div_ceil(most);
            format!("M{} {HEIGHT}v-{height}h{}v{height}z", at * WIDTH, WIDTH - 1)
        })
        .collect();
    let spoken: Vec<String> = counts.iter().map(u64::to_string).collect();
    let label = format!("results in each of the last minutes: {}", spoken.join(", "));
    html! {
        svg.bars viewBox=(format!("0 0 {} {HEIGHT}", counts.len() * WIDTH)) role="img" aria-label=(label) {
            title { (label) }
            path d=(path) {}
        }
    }
}

fn facts(view: &RunView) -> Markup {
    // Until the first report nothing is known of them.
    let tokens = |count: u64| or_dash((view.tokens.submitted > 0).then_some(count));
    let facts = [
        ("job", view.job.clone()),
        ("epoch", view.epoch.to_string()),
        ("tasks failed", view.failed_tasks.to_string()),
        ("retries", view.retries.to_string()),
        ("results repeated", view.repeats.to_string()),
        ("divergences", view.divergences.to_string()),
        ("tokens submitted", tokens(view.tokens.submitted)),
        ("tokens computed", tokens(view.tokens.computed)),
        ("tokens generated", tokens(view.tokens.generated)),
    ];
    html! { table.wide { tbody { @for (name, value) in facts { tr { th scope="row" { (name) } td.n { (value) } } } } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::part::changed;

    /// A job of which a stage runs and shows this.
    fn running(run: RunView) -> JobView {
        JobView { job: "3f2a".into(), state: "infer", run, ..JobView::default() }
    }

    fn metric(value: f64, scored: u64) -> LiveMetric {
        LiveMetric {
            model: "m".into(),
            dataset: "d".into(),
            metric: "accuracy".into(),
            value: Some(value),
            scored,
            failed: 2,
            recorded: scored + 2,
            expected: 20,
            ..LiveMetric::default()
        }
        .with_interval()
    }

    #[test]
    fn names_are_shown_and_never_run() {
        let worker = WorkerView { name: "<script>alert(1)</script>".into(), slots: 3, ..WorkerView::default() };
        let view = RunView {
            expected_samples: 10,
            recorded_samples: 4,
            samples_per_second: 0.5,
            tokens_per_second: 80.2,
            seconds: 4.0,
            workers: vec![worker],
            live: vec![LiveMetric { model: "\"><img src=x onerror=alert(1)>".into(), ..metric(50.0, 8) }],
            ..RunView::default()
        };
        let view = running(view);
        let narrowed = Narrowed { q: "\"><b>".into() };
        let page = job(&view, &Narrowed::default()).into_string();
        assert!(page.contains("4 of 10 samples in 4s, 12s left at 0.5 samples/s and 80 tokens/s"), "{page}");
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>") && !page.contains("<img"), "{page}");
        assert!(page.contains("10/20") && page.contains("50.00") && page.contains("21.5 to 78.5"), "{page}");
        let page = job(&view, &narrowed).into_string();
        assert!(!page.contains("<b>") && page.contains("/events?q=%22%3E%3Cb%3E"), "{page}");
    }

    #[test]
    fn the_speed_of_a_worker_is_drawn_and_said() {
        let by_minute = vec![0, 0, 0, 0, 0, 0, 0, 3, 12, 6];
        let (slots, seconds, busy_seconds) = (2, 100.0, 150.0);
        let worker = WorkerView { name: "w".into(), slots, seconds, busy_seconds, by_minute, ..WorkerView::default() };
        let page = workers(&RunView { workers: vec![worker.clone()], ..RunView::default() }).into_string();
        assert!(page.contains("M35 16v-4h4v4zM40 16v-16h4v16zM45 16v-8h4v8z"), "{page}");
        assert!(page.contains("last minutes: 0, 0, 0, 0, 0, 0, 0, 3, 12, 6") && page.contains("75 %"), "{page}");
        assert_eq!(WorkerView { slots: 0, ..worker.clone() }.busy_share(), None);
        assert_eq!(WorkerView { busy_seconds: 999.0, ..worker }.busy_share(), Some(1.0));
    }

    #[test]
    fn what_no_report_tells_yet_is_no_zero() {
        use compass_plan::engine::TokenCounters;
        let worker = WorkerView { name: "w".into(), slots: 2, seconds: 7.0, ..WorkerView::default() };
        let mut run = RunView {
            expected_samples: 150_400,
            recorded_samples: 48_896,
            samples_per_second: 6_711.3,
            workers: vec![worker],
            ..RunView::default()
        };
        let page = job(&running(run.clone()), &Narrowed::default()).into_string();
        assert!(page.contains("left at 6711.3 samples/s; ") && !page.contains("tokens/s"), "{page}");
        assert!(page.contains("<td class=\"n\">-</td>") && !page.contains("0 %"), "{page}");
        assert!(page.contains("tokens submitted</th><td class=\"n\">-</td>"), "{page}");
        run.tokens = TokenCounters { submitted: 90, computed: 40, ..TokenCounters::default() };
        let page = facts(&run).into_string();
        assert!(page.contains(">90</td>") && page.contains("tokens generated</th><td class=\"n\">0</td>"), "{page}");
    }

    #[test]
    fn a_page_has_the_same_weight_whatever_the_job() {
        let live = (0..20_000).map(|at| LiveMetric { dataset: format!("set {at}"), ..metric(50.0, 8) }).collect();
        let worker = |at: usize| {
            let by_minute = vec![17 + at as u64; 10];
            WorkerView { name: format!("worker {at}"), slots: 1, by_minute, ..WorkerView::default() }
        };
        let workers = (0..2_000).map(worker).collect();
        let view = running(RunView { live, workers, ..RunView::default() });
        let page = job(&view, &Narrowed::default()).into_string();
        assert!(page.len() < 100_000 && page.contains("19900 more rows") && page.contains("1900 more workers"));
        let page = job(&view, &Narrowed { q: "M set 19999".into() }).into_string();
        assert!(page.contains("set 19999") && !page.contains("more rows") && !page.contains("set 1998<"));
    }

    #[test]
    fn only_what_changed_is_sent() {
        let mut before = Vec::new();
        let view = RunView { job: "j".into(), recorded_samples: 1, ..RunView::default() };
        let parts = |view: &RunView| job_parts(&running(view.clone()), &Narrowed::default());
        let all = changed(&parts(&view), &mut before).unwrap();
        assert!(all.contains("\"progress\"") && all.contains("\"facts\""));
        assert_eq!(changed(&parts(&view), &mut before), None);
        let moved = changed(&parts(&RunView { recorded_samples: 2, ..view }), &mut before).unwrap();
        assert!(moved.contains("\"progress\"") && !moved.contains("\"facts\""), "{moved}");
    }

    #[test]
    fn a_job_that_waits_says_why_and_one_that_does_not_says_nothing() {
        let reasons = ["its share is 0 slots (priority 1); of the other jobs <b> has 1 (priority 1)".to_owned()];
        let waiting = RunView { open_tasks: 7, expected_samples: 70, waits: reasons.to_vec(), ..RunView::default() };
        let page = job(&running(waiting.clone()), &Narrowed::default()).into_string();
        assert!(page.contains("0 tasks at work, 7 waiting") && page.contains("no new one of late"), "{page}");
        assert!(page.contains("Why tasks wait:") && page.contains("its share is 0 slots"), "{page}");
        assert!(page.contains("&lt;b&gt; has 1") && page.contains("data-events=\"/jobs/3f2a/events\""), "{page}");
        let page = job(&running(RunView { waits: vec![], ..waiting }), &Narrowed::default()).into_string();
        assert!(!page.contains("Why tasks wait"), "{page}");
    }

    #[test]
    fn a_job_that_is_over_says_how_it_ended_and_no_time_left() {
        let run = RunView {
            expected_samples: 1349,
            recorded_samples: 928,
            samples_per_second: 40.1,
            seconds: 23.0,
            failed_tasks: 1,
            pools: vec!["local: 1 of 1 workers on this host is here".into()],
            ..RunView::default()
        };
        let (reason, help) = ("the disk is full".into(), Some("clear it".into()));
        let ended = Ended { exit_code: 3, reason, help, at: "2026-11-26T01:00:00Z".into(), ..Ended::default() };
        let mut view = JobView { ended: Some(ended), ..running(run) };
        let page = progress(&view).into_string();
        let said = "ended at 2026-11-26T01:00:00Z with exit code 3; 928 of 1349 samples in 23s, 1 task failed";
        assert!(page.contains(said) && page.contains("the disk is full") && page.contains("help: clear it"), "{page}");
        assert!(!page.contains("left at") && !page.contains("at work") && !page.contains("is here"), "{page}");
        view.cancelled = Some("by <me>".into());
        let page = progress(&view).into_string();
        assert!(page.contains("cancelled, ended") && page.contains("cancelled: by &lt;me&gt;"), "{page}");
        view.ended = None;
        let page = progress(&view).into_string();
        assert!(page.contains("no more are wanted") && !page.contains("left at"), "{page}");
        (view.cancelled, view.run.failed_samples, view.run.given_up_samples) = (None, 421, 421);
        let page = progress(&view).into_string();
        assert!(page.contains("928 of 1349 samples, 421 failed, in 23s, nothing more will come"), "{page}");
    }

    #[test]
    fn what_no_worker_reported_is_a_dash_and_copies_are_counted() {
        let begun = LiveMetric { copied: 3, recorded: 13, ..metric(50.0, 8) };
        let (dataset, recorded) = ("dupes_gen".into(), 80);
        let copies = LiveMetric { dataset, recorded, expected: 80, copied: 80, ..LiveMetric::default() };
        let page = scores(&[copies, begun], &Narrowed::default()).into_string();
        let dashes = "<td class=\"n\">-</td>".repeat(3);
        assert!(page.contains("80/80") && page.contains(&dashes) && page.contains("<td class=\"n\">80</td>"), "{page}");
        assert!(
            page.contains("<td class=\"n\">8</td><td class=\"n\">3</td>") && page.contains("Copied samples"),
            "{page}"
        );
        let new = LiveMetric { expected: 9, ..LiveMetric::default() };
        let page = scores(&[new], &Narrowed::default()).into_string();
        assert!(page.contains("0/9") && page.contains(&dashes) && !page.contains("Copied samples"), "{page}");
    }
}
