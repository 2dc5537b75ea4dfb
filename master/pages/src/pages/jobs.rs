//! The page of all jobs.

use super::job::{Narrowed, job_parts, narrowing};
use super::layout::layout;
use super::part::{Part, sections};
use compass_common::words::counted;
use compass_jobs::{JobView, MasterStatus};
use maud::{Markup, html};

/// The page of all jobs; below them the only one's view.
pub(crate) fn jobs(master: &MasterStatus, only: Option<&JobView>, narrowed: &Narrowed) -> Markup {
    let (own, of_only) = (master_parts(master), only.map(|view| job_parts(view, narrowed)).unwrap_or_default());
    let body = html! {
        h1 { "Compass" }
        (sections(&own))
        @if only.is_some() { (narrowing(narrowed)) }
        (sections(&of_only))
    };
    layout("Compass", Some(&narrowed.path("/events")), &body)
}

/// The parts of the page of all jobs.
pub(crate) fn jobs_parts(master: &MasterStatus, only: Option<&JobView>, narrowed: &Narrowed) -> Vec<Part> {
    let mut parts = master_parts(master);
    parts.extend(only.into_iter().flat_map(|view| job_parts(view, narrowed)));
    parts
}

fn master_parts(master: &MasterStatus) -> Vec<Part> {
    let MasterStatus { process, host, workers_at, idle_workers, .. } = master;
    let about = html! {
        p {
            "process " (process) " on " (host)
            @if !workers_at.is_empty() {
                ", workers dial " (workers_at) ", " (counted(*idle_workers, "worker")) " without work"
            }
        }
        @for note in &master.notes { p { (note) } }
    };
    let heads = ["job", "state", "samples", "slots", "share", "priority", "run"];
    let jobs = html! {
        table.wide {
            thead { tr { @for head in heads { th { (head) } } } }
            tbody {
                @for job in &master.jobs {
                    tr {
                        td { a href={ "/jobs/" (job.job) } { (job.job) } }
                        td { (job.state_in_words()) }
                        td { (job.recorded_samples) "/" (job.expected_samples) }
                        td.n { (job.slots) }
                        td.n { @if let Some(share) = job.share { (share) } }
                        td.n { (job.priority) }
                        td { (job.folder) }
                    }
                }
            }
        }
    };
    vec![("about", about), ("jobs", jobs)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_jobs::JobStatus;

    #[test]
    fn jobs_lead_to_their_pages() {
        let job = JobStatus { job: "3f2a".into(), folder: "/<b>".into(), ..JobStatus::default() };
        let master = MasterStatus { jobs: vec![job], ..MasterStatus::default() };
        let page = jobs(&master, None, &Narrowed::default()).into_string();
        assert!(!page.contains("workers dial"), "{page}");
        let server = MasterStatus { workers_at: "127.0.0.1:50051".into(), ..master };
        let of_server = jobs(&server, None, &Narrowed::default()).into_string();
        assert!(of_server.contains("workers dial 127.0.0.1:50051, 0 workers without work"), "{of_server}");
        assert!(page.contains("<table class=\"wide\">"), "a table that is wider than the window scrolls: {page}");
        assert!(page.contains("<a href=\"/jobs/3f2a\">3f2a</a>") && page.contains("&lt;b&gt;"), "{page}");
    }
}
