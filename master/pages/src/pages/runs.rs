//! Pages of recorded runs: which there are, and one of them.

use super::job::Narrowed;
use super::layout::layout;
use super::text::visible;
use compass_recorded::{Listed, OpenedRun};
use maud::{Markup, PreEscaped, html};

/// Rows of a table at most.
const ROWS: usize = 100;

/// All runs.
pub(crate) fn runs(runs: &[Listed], narrowed: &Narrowed) -> Markup {
    let taken: Vec<&Listed> = runs.iter().filter(|run| narrowed.takes(&run.folder.to_string_lossy())).collect();
    let body = html! {
        h1 { "Runs" }
        form method="get" {
            input name="q" type="search" value=(narrowed.q) placeholder="name or folder" aria-label="show only runs with these words";
        }
        table.wide {
            thead { tr { @for head in ["run", "table", "folder"] { th { (head) } } } }
            tbody {
                @for run in taken.iter().take(ROWS) {
                    tr {
                        td { a href={ "/runs/" (run.name) } { (run.name) } }
                        td { @if run.scored { "yes" } @else { "none yet" } }
                        td { (visible(&run.folder.to_string_lossy())) }
                    }
                }
            }
        }
        p { a href="/leaderboard" { "leaderboard" } " of the latest" }
        @if taken.len() > ROWS { p { (taken.len() - ROWS) " more: write some words of them into the field above" } }
        @if runs.is_empty() { p { "There is none." } }
    };
    layout("Runs - Compass", None, &body)
}

/// One run: its table, and the ways to its samples.
pub(crate) fn run(run: &OpenedRun, table: Option<&str>, others: &[String], narrowed: &Narrowed) -> Markup {
    let (name, plan) = (run.folder.name(), &run.recorded.plan);
    let is_taken = |model: &str, dataset: &str| narrowed.takes(&format!("{model} {dataset}"));
    let units: Vec<_> =
        plan.units().filter(|unit| is_taken(&unit.model.abbr, &unit.dataset.abbr)).take(ROWS + 1).collect();
    let samples = |model: &str, dataset: &str, filter: &str| {
        let mut path = form_urlencoded::Serializer::new(format!("/runs/{name}/samples?"));
        path.append_pair("model", model).append_pair("dataset", dataset).append_pair("filter", filter).finish()
    };
    let body = html! {
        h1 { (name) }
        p {
            a href={ "/runs/" (name) "/samples" } { "samples" } ", "
            a href={ "/runs/" (name) "/samples?filter=wrong" } { "wrong ones" } ", "
            a href={ "/runs/" (name) "/why" } { "why" } ", "
            a href={ "/runs/" (name) "/failures" } { "failures" } ", "
            a href={ "/runs/" (name) "/logs" } { "logs" }
        }
        @match table {
            Some(table) => pre.table { (visible(table)) },
            None => p { "There is no table yet." },
        }
        @if !others.is_empty() {
            form method="get" action="/compare" {
                input type="hidden" name="b" value=(name);
                select name="a" aria-label="another run" { @for other in others.iter().take(ROWS) { option { (other) } } }
                input name="models" placeholder="models: a=b" aria-label="models that have other names, as a=b";
                button { "compare" }
            }
        }
        form method="get" {
            input name="q" type="search" value=(narrowed.q) placeholder="model or data set" aria-label="show only rows with these words";
        }
        table.wide {
            thead { tr { @for head in ["model", "data set", "samples", ""] { th { (head) } } } }
            tbody {
                @for unit in units.iter().take(ROWS) {
                    @let (model, dataset) = (unit.model.abbr.as_str(), unit.dataset.abbr.as_str());
                    tr {
                        td { (visible(model)) }
                        td { (visible(dataset)) }
                        td.n { a href=(samples(model, dataset, "")) { (unit.dataset.samples) } }
                        td { a href=(samples(model, dataset, "wrong")) { "wrong" } }
                    }
                }
            }
        }
        @if units.len() > ROWS { p { "More rows: write some words of them into the field above." } }
    };
    layout(&format!("{name} - Compass"), None, &body)
}

/// A report of several runs, with the style of the files that `--html` writes.
pub(crate) fn report(title: &str, body: String) -> Markup {
    layout(&format!("{title} - Compass"), None, &PreEscaped(format!("<main class=\"report\">{body}</main>")))
}
