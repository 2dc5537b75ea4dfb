//! `/metrics`: the view in Prometheus' text format. Names end in their unit; counters start afresh with each reign.

use super::view::RunView;
use crate::control::{JobStatus, MasterStatus};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

/// The content type that goes with [`render`].
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of a scrape.
///
/// # Errors
/// Never with this view; the writer's type demands it.
pub(super) fn render(view: RunView) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("compass");
    registry.register_collector(Box::new(Scrape(view)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Scrape(RunView);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    run: String,
    job: String,
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let view = &self.0;
        let run = RunLabels { run: view.run.clone(), job: view.job.clone() };
        labelled(&mut encoder, ("run_info", "The run that this master leads."), &run, 1)?;
        gauge(&mut encoder, "epoch", "Epoch of this leader.", view.epoch as i64)?;
        gauge(&mut encoder, "samples_expected", "Samples of the job.", view.expected_samples as i64)?;
        gauge(&mut encoder, "samples_recorded", "Samples with a durable result.", view.recorded_samples as i64)?;
        gauge(&mut encoder, "tasks_open", "Tasks neither done nor failed.", i64::from(view.open_tasks))?;
        gauge(&mut encoder, "tasks_granted", "Tasks out on a grant.", i64::from(view.granted_tasks))?;
        gauge(&mut encoder, "tasks_failed", "Tasks given up.", i64::from(view.failed_tasks))?;
        let connected = view.workers.iter().filter(|worker| worker.connected).count() as i64;
        gauge(&mut encoder, "workers_connected", "Workers whose stream is up.", connected)?;
        gauge(&mut encoder, "slots", "Replica slots of connected workers.", i64::from(view.slots))?;
        counter(&mut encoder, "retries", "Grants that followed a failed or lost one.", view.retries)?;
        counter(&mut encoder, "repeats", "Results that came again, equal.", view.repeats)?;
        counter(&mut encoder, "divergences", "Results that came again and differed.", view.divergences)?;
        let violations = "Rules of the scheduler found broken; alert above 0.";
        counter(&mut encoder, "invariant_violations", violations, view.violations)?;
        counter(&mut encoder, "worker_deaths", "Worker processes that ended in mid-run.", deaths(view))?;
        let tokens = &view.tokens;
        counter(&mut encoder, "tokens_submitted", "Tokens a loop over prompts would compute.", tokens.submitted)?;
        counter(&mut encoder, "tokens_computed", "Rows that went through a model.", tokens.computed)?;
        counter(&mut encoder, "tokens_generated", "Tokens generated.", tokens.generated)?;
        let busy: f64 = view.workers.iter().map(|worker| worker.busy_seconds).sum();
        let busy = ConstCounter::new(busy);
        let descriptor = encoder.encode_descriptor(
            "worker_busy",
            "Seconds that engines spent on tasks.",
            Some(&Unit::Seconds),
            busy.metric_type(),
        )?;
        busy.encode(descriptor)?;
        live(&mut encoder, view)
    }
}

fn deaths(view: &RunView) -> u64 {
    view.workers.iter().map(|worker| u64::from(worker.deaths)).sum()
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> Result<(), std::fmt::Error> {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

/// The text of a scrape of a master that stays: every job that has not ended under its own label.
///
/// # Errors
/// Never with this status; the writer's type demands it.
pub(super) fn render_jobs(status: MasterStatus) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("compass");
    registry.register_collector(Box::new(ScrapeJobs(status)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct ScrapeJobs(MasterStatus);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job: String,
    run: String,
}

/// A metric's name and help, and how it is read off.
type JobFigure = (&'static str, &'static str, fn(&JobStatus) -> i64);

impl Collector for ScrapeJobs {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let open: Vec<&JobStatus> = self.0.jobs.iter().filter(|job| job.exit_code.is_none()).collect();
        gauge(&mut encoder, "jobs", "Jobs that have not ended.", open.len() as i64)?;
        gauge(&mut encoder, "workers_idle", "Workers without a job.", i64::from(self.0.idle_workers))?;
        let figures: [JobFigure; 6] = [
            ("samples_expected", "Samples of the job.", |job| job.expected_samples as i64),
            ("samples_recorded", "Samples with a durable result.", |job| job.recorded_samples as i64),
            ("tasks_open", "Tasks neither done nor failed.", |job| i64::from(job.open_tasks)),
            ("tasks_granted", "Tasks out on a grant.", |job| i64::from(job.granted_tasks)),
            ("tasks_failed", "Tasks given up.", |job| i64::from(job.failed_tasks)),
            ("slots", "Replica slots of the job's connected workers.", |job| i64::from(job.slots)),
        ];
        for (name, help, figure) in figures.into_iter().filter(|_| !open.is_empty()) {
            let kind = ConstGauge::new(0_i64).metric_type();
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for job in &open {
                let labels = JobLabels { job: job.job.clone(), run: job.run.clone() };
                ConstGauge::new(figure(job)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), std::fmt::Error> {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}

fn labelled(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    labels: &impl EncodeLabelSet,
    value: i64,
) -> Result<(), std::fmt::Error> {
    let gauge = ConstGauge::new(value);
    let mut encoder = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
    gauge.encode(encoder.encode_family(labels)?)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MetricLabels {
    model: String,
    dataset: String,
    metric: String,
}

fn live(encoder: &mut DescriptorEncoder<'_>, view: &RunView) -> Result<(), std::fmt::Error> {
    if view.live.is_empty() {
        return Ok(());
    }
    let kind = ConstGauge::new(0.0).metric_type();
    let help = "Metrics as far as shards were reported; the table is made from the ledger.";
    let mut family = encoder.encode_descriptor("live_metric", help, None, kind)?;
    for metric in &view.live {
        let labels = MetricLabels {
            model: metric.model.clone(),
            dataset: metric.dataset.clone(),
            metric: metric.metric.clone(),
        };
        ConstGauge::new(metric.value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{LiveMetric, WorkerView};

    #[test]
    fn jobs_have_labels() {
        let job = |name: &str, exit_code| JobStatus { job: name.into(), slots: 2, exit_code, ..JobStatus::default() };
        let jobs = vec![job("a", None), job("b", None), job("c", Some(0))];
        let text = render_jobs(MasterStatus { jobs, idle_workers: 3, ..MasterStatus::default() }).unwrap();
        for line in ["compass_jobs 2", "compass_workers_idle 3", "compass_slots{job=\"a\",run=\"\"} 2", "# EOF"] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("job=\"c\"") && text.matches("# TYPE compass_slots").count() == 1, "{text}");
    }

    #[test]
    fn a_scrape_says_what_the_view_says() {
        let worker = WorkerView { connected: true, busy_seconds: 1.5, deaths: 2, ..WorkerView::default() };
        let live = LiveMetric { model: "m".into(), dataset: "d \"q\"".into(), metric: "accuracy".into(), value: 62.5 };
        let view = RunView {
            run: "20260101_000000".into(),
            recorded_samples: 7,
            divergences: 1,
            workers: vec![worker.clone(), WorkerView { connected: false, ..worker }],
            live: vec![live],
            ..RunView::default()
        };
        let text = render(view).unwrap();
        for line in [
            "compass_run_info{run=\"20260101_000000\",job=\"\"} 1",
            "compass_samples_recorded 7",
            "compass_divergences_total 1",
            "compass_workers_connected 1",
            "compass_worker_deaths_total 4",
            "compass_worker_busy_seconds_total 3.0",
            "compass_live_metric{model=\"m\",dataset=\"d \\\"q\\\"\",metric=\"accuracy\"} 62.5",
            "# EOF",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
    }
}
