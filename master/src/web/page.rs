//! The page for people: one table of the run, one of workers, one of live metrics. No script; it reloads itself.

use crate::control::MasterStatus;
use crate::pipeline::RunView;
use std::fmt::Write;

/// What every page begins with.
const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2><title>Compass</title>\
         <style>body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}\
         table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ccc}\
         td.n{text-align:right;font-variant-numeric:tabular-nums}progress{width:100%}\
         @media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>";

/// The whole page of a job, as HTML.
pub(super) fn render(view: &RunView) -> String {
    let mut page = String::from(HEAD);
    describe(&mut page, view);
    page
}

/// All that is known of a job.
fn describe(page: &mut String, view: &RunView) {
    let (done, all) = (view.recorded_samples, view.expected_samples);
    let _ = write!(
        page,
        "<h2>{}</h2><p>{done} of {all} samples, {} of {} open tasks granted, {:.0} s</p><progress max={all} value={done}></progress>",
        escaped(&view.run),
        view.granted_tasks,
        view.open_tasks,
        view.seconds,
    );
    let facts = [
        ("job", view.job.clone()),
        ("epoch", view.epoch.to_string()),
        ("tasks failed", view.failed_tasks.to_string()),
        ("retries", view.retries.to_string()),
        ("results repeated", view.repeats.to_string()),
        ("divergences", view.divergences.to_string()),
        ("tokens submitted", view.tokens.submitted.to_string()),
        ("tokens computed", view.tokens.computed.to_string()),
        ("tokens generated", view.tokens.generated.to_string()),
    ];
    table(page, &["run", ""], facts.map(|(name, value)| vec![name.into(), value]));
    let workers = view.workers.iter().map(|worker| {
        let state = if worker.connected { "connected" } else { "away" };
        vec![
            worker.name.clone(),
            state.into(),
            worker.pool.clone(),
            worker.device.clone(),
            worker.slots.to_string(),
            worker.results.to_string(),
            format!("{:.1}", worker.busy_seconds),
            worker.deaths.to_string(),
        ]
    });
    table(page, &["worker", "state", "pool", "device", "slots", "results", "busy s", "deaths"], workers);
    for pool in &view.pools {
        let _ = write!(page, "<p>{}", escaped(pool));
    }
    let live = view.live.iter().map(|metric| {
        let value = format!("{:.2}", metric.value);
        vec![metric.model.clone(), metric.dataset.clone(), metric.metric.clone(), value]
    });
    table(page, &["model", "dataset", "metric", "so far"], live);
}

/// The jobs of a master, each with a way to its own page; below them the view of the only one.
pub(super) fn render_jobs(master: &MasterStatus, only: Option<&RunView>) -> String {
    let mut page = String::from(HEAD);
    let MasterStatus { process, host, workers_at, idle_workers, .. } = master;
    let _ = write!(
        page,
        "<h1>Compass</h1><p>process {process} on {}, workers dial {}, {idle_workers} workers without work</p>",
        escaped(host),
        escaped(workers_at)
    );
    for note in &master.notes {
        let _ = write!(page, "<p>{}</p>", escaped(note));
    }
    page.push_str("<table><tr><th>job<th>state<th>samples<th>slots<th>share<th>priority<th>run");
    for job in &master.jobs {
        let state = match (&job.exit_code, &job.cancelled) {
            (Some(code), _) => format!("ended ({code})"),
            (None, Some(_)) => format!("{}, cancelled", job.state),
            (None, None) => job.state.clone(),
        };
        let share = job.share.map(|share| share.to_string()).unwrap_or_default();
        let _ = write!(
            page,
            "<tr><td><a href=\"/jobs/{id}\">{id}</a><td>{}<td>{}/{}<td class=n>{}<td class=n>{share}<td class=n>{}<td>{}",
            escaped(&state),
            job.recorded_samples,
            job.expected_samples,
            job.slots,
            job.priority,
            escaped(&job.folder),
            id = escaped(&job.job),
        );
    }
    page.push_str("</table>");
    if let Some(view) = only {
        describe(&mut page, view);
    }
    page
}

fn table(page: &mut String, heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    page.push_str("<table><tr>");
    for head in heads {
        let _ = write!(page, "<th>{}", escaped(head));
    }
    for row in rows {
        page.push_str("<tr>");
        for cell in row {
            let numeric = if cell.parse::<f64>().is_ok() { " class=n" } else { "" };
            let _ = write!(page, "<td{numeric}>{}", escaped(&cell));
        }
    }
    page.push_str("</table>");
}

/// Names come from configurations and workers: none of them is markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::WorkerView;

    #[test]
    fn jobs_lead_to_their_pages() {
        let job = crate::control::JobStatus { job: "3f2a".into(), folder: "/<b>".into(), ..Default::default() };
        let page = render_jobs(&MasterStatus { jobs: vec![job], ..MasterStatus::default() }, None);
        assert!(page.contains("<a href=\"/jobs/3f2a\">3f2a</a>") && page.contains("&lt;b&gt;"), "{page}");
    }

    #[test]
    fn names_are_shown_and_never_run() {
        let worker = WorkerView { name: "<script>alert(1)</script>".into(), slots: 3, ..WorkerView::default() };
        let view = RunView { expected_samples: 10, recorded_samples: 4, workers: vec![worker], ..RunView::default() };
        let page = render(&view);
        assert!(page.contains("4 of 10 samples") && page.contains("<td class=n>3"));
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
    }
}
