//! `/metrics`: the views in Prometheus' text format. Names end in their unit; counters but repeats are of the whole run.

use compass_jobs::JobView;
use compass_progress::{Histogram, RunView, ShardTotals, WorkerView};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;

/// The content type that goes with [`render`].
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of a scrape: every job that has not ended under labels of its own.
///
/// # Errors
/// Never with these views; the writer's type demands it.
pub(super) fn render(idle_workers: u32, jobs: Vec<JobView>) -> Result<String, fmt::Error> {
    let labelled = |view: JobView| (JobLabels { run: view.run_name(), job_id: view.job }, view.run);
    let mut registry = Registry::with_prefix("compass");
    registry.register_collector(Box::new(Scrape { idle_workers, jobs: jobs.into_iter().map(labelled).collect() }));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Scrape {
    idle_workers: u32,
    jobs: Vec<(JobLabels, RunView)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job_id: String,
    run: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MetricLabels {
    job_id: String,
    run: String,
    model: String,
    dataset: String,
    metric: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabels {
    job_id: String,
    run: String,
    model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabels {
    job_id: String,
    run: String,
    pool: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkerLabels {
    job_id: String,
    run: String,
    worker: String,
    pool: String,
}

/// Encoding of a histogram.
struct Told<'h>(&'h Histogram);

impl EncodeMetric for Told<'_> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let buckets = self.0.buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.0.sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// A histogram's name and help, and how it is read off.
type ViewHistogram = (&'static str, &'static str, fn(&RunView) -> &Histogram);

const HISTOGRAMS: [ViewHistogram; 3] = [
    ("grant_latency", "From a worker's room for more until the next task leaves for it.", |view| &view.latencies.grant),
    ("commit_latency", "From a record's way to the ledger until it is durable.", |view| &view.latencies.commit),
    ("sample_latency", "Of an engine for a sample, over the samples of a task.", |view| &view.latencies.sample),
];

/// A metric's name and help, and how it is read off.
type ViewMetric<T> = (&'static str, &'static str, fn(&RunView) -> T);

const GAUGES: [ViewMetric<i64>; 10] = [
    ("run_info", "A run that this master leads.", |_| 1),
    ("epoch", "Epoch of this leader.", |view| view.epoch as i64),
    ("samples_expected", "Samples of the job.", |view| view.expected_samples as i64),
    ("samples_recorded", "Samples with a durable result.", |view| view.recorded_samples as i64),
    ("tasks_open", "Tasks neither done nor failed.", |view| i64::from(view.open_tasks)),
    ("tasks_granted", "Tasks out on a grant.", |view| i64::from(view.granted_tasks)),
    ("tasks_failed", "Tasks given up, and tasks of which samples failed.", |view| i64::from(view.failed_tasks)),
    ("samples_failed", "Samples that failed: with a result that says so, or given up.", |view| {
        view.failed_samples as i64
    }),
    ("workers_connected", "Workers whose stream is up.", |view| {
        view.workers.iter().filter(|worker| worker.connected).count() as i64
    }),
    ("slots", "Replica slots of the job's connected workers.", |view| i64::from(view.slots)),
];

const COUNTERS: [ViewMetric<u64>; 7] = [
    ("retries", "Grants that followed a failed or lost one.", |view| view.retries),
    ("repeats", "Results that came again, equal.", |view| view.repeats),
    ("divergences", "Results that came again and differed.", |view| view.divergences),
    ("invariant_violations", "Rules of the scheduler found broken; alert above 0.", |view| view.violations),
    ("tokens_submitted", "Tokens a loop over prompts would compute.", |view| view.tokens.submitted),
    ("tokens_computed", "Rows that went through a model.", |view| view.tokens.computed),
    ("tokens_generated", "Tokens generated.", |view| view.tokens.generated),
];

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        gauge(&mut encoder, "jobs", "Jobs that have not ended.", self.jobs.len() as i64)?;
        gauge(&mut encoder, "workers_idle", "Workers without a job.", i64::from(self.idle_workers))?;
        if self.jobs.is_empty() {
            return Ok(());
        }
        for (name, help, figure) in GAUGES {
            self.family(&mut encoder, (name, help, None), |view| ConstGauge::new(figure(view)))?;
        }
        for (name, help, figure) in COUNTERS {
            self.family(&mut encoder, (name, help, None), |view| ConstCounter::new(figure(view)))?;
        }
        let seconds = ("worker_busy", "Seconds that engines spent on tasks.", Some(&Unit::Seconds));
        self.workers(&mut encoder, seconds, |worker| ConstCounter::new(worker.busy_seconds))?;
        let results = ("worker_results", "Results that a worker sent, repeats counted.", None);
        self.workers(&mut encoder, results, |worker| ConstCounter::new(worker.results))?;
        let deaths = ("worker_deaths", "Processes of a worker and of its engines that ended in mid-run.", None);
        self.workers(&mut encoder, deaths, |worker| ConstCounter::new(u64::from(worker.deaths)))?;
        let slots = ("worker_slots", "Replica slots of a worker; 0 while it is away.", None);
        self.workers(&mut encoder, slots, |worker| {
            ConstGauge::new(if worker.connected { i64::from(worker.slots) } else { 0 })
        })?;
        let pools = ("pool_slots", "Replica slots of a pool's connected workers.", None);
        self.pools(&mut encoder, pools, |worker| i64::from(worker.slots))?;
        self.pools(&mut encoder, ("pool_workers_connected", "Workers of a pool whose stream is up.", None), |_| 1)?;
        let samples = ("model_samples", "Samples of a model's tasks that were reported.", None);
        self.models(&mut encoder, samples, |model| ConstCounter::new(model.samples))?;
        let busy = ("model_busy", "Seconds that engines spent on a model's tasks.", Some(&Unit::Seconds));
        self.models(&mut encoder, busy, |model| ConstCounter::new(model.busy_seconds))?;
        let computed = ("model_tokens_computed", "Rows that went through a model.", None);
        self.models(&mut encoder, computed, |model| ConstCounter::new(model.tokens.computed))?;
        let generated = ("model_tokens_generated", "Tokens that a model generated.", None);
        self.models(&mut encoder, generated, |model| ConstCounter::new(model.tokens.generated))?;
        for (name, help, histogram) in HISTOGRAMS {
            let kind = MetricType::Histogram;
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), kind)?;
            for (labels, view) in &self.jobs {
                Told(histogram(view)).encode(family.encode_family(labels)?)?;
            }
        }
        self.live(&mut encoder)
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

impl Scrape {
    /// A metric of every job.
    fn family<M: EncodeMetric>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        metric: impl Fn(&RunView) -> M,
    ) -> Result<(), fmt::Error> {
        let kind = metric(&RunView::default()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
        for (labels, view) in &self.jobs {
            metric(view).encode(family.encode_family(labels)?)?;
        }
        Ok(())
    }

    /// A metric of every worker.
    fn workers<M: EncodeMetric>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        metric: impl Fn(&WorkerView) -> M,
    ) -> Result<(), fmt::Error> {
        if self.jobs.iter().all(|(_, view)| view.workers.is_empty()) {
            return Ok(());
        }
        let kind = metric(&WorkerView::default()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
        for (JobLabels { job_id, run }, view) in &self.jobs {
            for worker in &view.workers {
                let (worker_name, pool) = (worker.name.clone(), worker.pool.clone());
                let labels = WorkerLabels { job_id: job_id.clone(), run: run.clone(), worker: worker_name, pool };
                metric(worker).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    /// A number of every pool, summed over its connected workers; 0 where none of those seen is connected.
    fn pools(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        figure: impl Fn(&WorkerView) -> i64,
    ) -> Result<(), fmt::Error> {
        if self.jobs.iter().all(|(_, view)| view.workers.is_empty()) {
            return Ok(());
        }
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (JobLabels { job_id, run }, view) in &self.jobs {
            let mut by_pool: BTreeMap<&str, i64> = BTreeMap::new();
            for worker in &view.workers {
                *by_pool.entry(&worker.pool).or_default() += if worker.connected { figure(worker) } else { 0 };
            }
            for (pool, sum) in by_pool {
                let labels = PoolLabels { job_id: job_id.clone(), run: run.clone(), pool: pool.to_owned() };
                ConstGauge::new(sum).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    /// A metric of every model of which something was reported.
    fn models<M: EncodeMetric>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        metric: impl Fn(&ShardTotals) -> M,
    ) -> Result<(), fmt::Error> {
        if self.jobs.iter().all(|(_, view)| view.models.is_empty()) {
            return Ok(());
        }
        let kind = metric(&ShardTotals::default()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
        for (JobLabels { job_id, run }, view) in &self.jobs {
            for model in &view.models {
                let labels = ModelLabels { job_id: job_id.clone(), run: run.clone(), model: model.model.clone() };
                metric(model).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn live(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if self.jobs.iter().all(|(_, view)| view.live.is_empty()) {
            return Ok(());
        }
        let kind = ConstGauge::new(0.0).metric_type();
        let help = "Metrics as far as shards were reported; the table is made from the ledger.";
        let mut family = encoder.encode_descriptor("live_metric", help, None, kind)?;
        for (JobLabels { job_id, run }, view) in &self.jobs {
            for (metric, value) in view.live.iter().filter_map(|metric| Some((metric, metric.value?))) {
                let labels = MetricLabels {
                    job_id: job_id.clone(),
                    run: run.clone(),
                    model: metric.model.clone(),
                    dataset: metric.dataset.clone(),
                    metric: metric.metric.clone(),
                };
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_progress::Latencies;
    use compass_progress::LiveMetric;

    fn job(id: &str, run: RunView) -> JobView {
        JobView { job: id.into(), folder: "out/20260101_000000".into(), run, ..JobView::default() }
    }

    #[test]
    fn a_scrape_says_what_the_views_say() {
        let (name, pool) = ("w".to_owned(), "s".to_owned());
        let worker =
            WorkerView { connected: true, busy_seconds: 1.5, deaths: 2, slots: 2, name, pool, ..WorkerView::default() };
        let model = ShardTotals { model: "m".into(), samples: 9, ..ShardTotals::default() };
        let mut latencies = Latencies::default();
        latencies.commit.observe(0.02, 3);
        latencies.commit.observe(7.0, 1);
        let live = LiveMetric {
            model: "m".into(),
            dataset: "d \"q\"".into(),
            metric: "accuracy".into(),
            value: Some(62.5),
            ..LiveMetric::default()
        };
        let view = RunView {
            recorded_samples: 7,
            divergences: 1,
            workers: vec![worker.clone(), WorkerView { connected: false, name: "x".into(), ..worker }],
            models: vec![model],
            latencies,
            live: vec![live],
            ..RunView::default()
        };
        let other = RunView { slots: 2, ..RunView::default() };
        let text = render(3, vec![job("a", view), job("b", other)]).unwrap();
        let run = "run=\"20260101_000000\"";
        for line in [
            "compass_jobs 2".to_owned(),
            "compass_workers_idle 3".to_owned(),
            format!("compass_run_info{{job_id=\"a\",{run}}} 1"),
            format!("compass_samples_recorded{{job_id=\"a\",{run}}} 7"),
            format!("compass_slots{{job_id=\"b\",{run}}} 2"),
            format!("compass_divergences_total{{job_id=\"a\",{run}}} 1"),
            format!("compass_workers_connected{{job_id=\"a\",{run}}} 1"),
            format!("compass_worker_deaths_total{{job_id=\"a\",{run},worker=\"w\",pool=\"s\"}} 2"),
            format!("compass_worker_busy_seconds_total{{job_id=\"a\",{run},worker=\"x\",pool=\"s\"}} 1.5"),
            format!("compass_worker_slots{{job_id=\"a\",{run},worker=\"x\",pool=\"s\"}} 0"),
            format!("compass_pool_slots{{job_id=\"a\",{run},pool=\"s\"}} 2"),
            format!("compass_pool_workers_connected{{job_id=\"a\",{run},pool=\"s\"}} 1"),
            format!("compass_model_samples_total{{job_id=\"a\",{run},model=\"m\"}} 9"),
            format!("compass_commit_latency_seconds_bucket{{le=\"0.03\",job_id=\"a\",{run}}} 3"),
            format!("compass_commit_latency_seconds_bucket{{le=\"+Inf\",job_id=\"a\",{run}}} 4"),
            format!("compass_commit_latency_seconds_count{{job_id=\"a\",{run}}} 4"),
            format!(
                "compass_live_metric{{job_id=\"a\",{run},model=\"m\",dataset=\"d \\\"q\\\"\",metric=\"accuracy\"}} 62.5"
            ),
            "# EOF".to_owned(),
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
        assert_eq!(text.matches("# TYPE compass_slots").count(), 1, "{text}");
        // What the board, the rules and the page speak of is there; what is there, the page speaks of.
        let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(deploy.join("docs/src/operations.md")).unwrap();
        let named = |text: &str| -> Vec<String> {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            let words = text.split(|c| !is_name(c)).filter(|word| word.starts_with("compass_"));
            words.map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned()).collect()
        };
        let exposed = named(&text);
        for file in ["deploy/grafana/compass.json", "deploy/grafana/alerts.yml", "docs/src/operations.md"] {
            for name in named(&std::fs::read_to_string(deploy.join(file)).unwrap()) {
                assert!(exposed.contains(&name), "{file} speaks of {name}, which no scrape has");
            }
        }
        for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
            assert!(
                page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}_total`")),
                "{name} is nowhere explained"
            );
        }
        assert!(!render(0, Vec::new()).unwrap().contains("compass_slots"));
    }
}
