//! Pages of a run's logs: which there are, and the end of one.

use super::layout::layout;
use super::text::all_visible;
use compass_recorded::{LogTail, RunLog};
use maud::{Markup, html};

/// Rows of a table at most.
const ROWS: usize = 1000;

/// The path of a log's page. Names come from a listing, and may have any characters.
pub(super) fn log_path(run: &str, name: &str) -> String {
    let quoted = |part: &str| form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>().replace('+', "%20");
    let name: Vec<String> = name.split('/').map(quoted).collect();
    format!("/runs/{run}/logs/{}", name.join("/"))
}

/// The logs of a run.
pub(crate) fn logs(run: &str, logs: &[RunLog]) -> Markup {
    let body = html! {
        h1 { a href={ "/runs/" (run) } { (run) } ": logs" }
        table.wide {
            thead { tr { @for head in ["log", "bytes"] { th { (head) } } } }
            tbody {
                @for log in logs.iter().take(ROWS) {
                    tr {
                        td { a href=(log_path(run, &log.name)) { (all_visible(&log.name)) } }
                        td.n { (log.bytes) }
                    }
                }
            }
        }
        @if logs.len() > ROWS { p { (logs.len() - ROWS) " more: logs.json lists them" } }
        @if logs.is_empty() {
            p { "There is none: workers that a server or another host started write theirs elsewhere." }
        }
    };
    layout(&format!("logs of {run} - Compass"), None, &body)
}

/// The end of a log.
pub(crate) fn log(run: &str, name: &str, tail: &LogTail) -> Markup {
    let body = html! {
        h1 { a href={ "/runs/" (run) } { (run) } ": " a href={ "/runs/" (run) "/logs" } { "logs" } ": " (all_visible(name)) }
        @if tail.left_out > 0 { p { "The end of it; " (tail.left_out) " bytes before are not shown." } }
        pre { (all_visible(&tail.text)) }
    };
    layout(&format!("{name} of {run} - Compass"), None, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_logs_are_shown_as_text() {
        let tail = LogTail { text: "</pre><script>alert(1)</script>\u{1b}[2J\u{202e}".into(), left_out: 7 };
        let page = log("r", "infer/<b>.log", &tail).into_string();
        assert!(!page.contains("<script>alert") && page.contains("&lt;/pre&gt;&lt;script&gt;"), "{page}");
        assert!(page.contains("U+001B") && page.contains("U+202E") && !page.contains('\u{1b}'), "{page}");
        assert!(!page.contains("<b>") && page.contains("7 bytes before"), "{page}");
        let listed = logs("r", &[RunLog { name: "infer/a b#?<i>.log".into(), bytes: 9 }]).into_string();
        assert!(
            listed.contains("href=\"/runs/r/logs/infer/a%20b%23%3F%3Ci%3E.log\"") && !listed.contains("<i>"),
            "{listed}"
        );
        assert!(logs("r", &[]).into_string().contains("There is none"));
    }
}
