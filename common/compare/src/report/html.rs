//! A comparison as one HTML file that loads nothing and runs nothing.

use super::escape::html_text as text;
use super::forest::forest;
use super::text::{headline, interval_name, models_of, notes, p_name, shows_models};
use crate::comparison::Comparison;
use crate::flip::Flip;
use crate::row::Conclusion;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;

/// The style of every page. Text has lines of 70 rem at most, tables have the width of the window; one that is wider scrolls in its
/// box (`.wide`), with a shadow at the edge behind which there is more: the shadow stays where it is, and the ends of the content
/// cover it.
pub const STYLE: &str = "
:root { color-scheme: light dark; --fg: #1a1a1a; --bg: #fff; --line: #ccc; --good: #176f2c; --bad: #a8201a; --open: #666; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6e6e6; --bg: #16181c; --line: #444; --good: #6fce86; --bad: #ff8a80; --open: #aaa; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); margin: 2rem auto; padding: 0 1rem; }
p, li, dd { max-width: 70rem; }
table { border-collapse: collapse; margin: 1rem 0; }
table.wide { display: block; }
.wide { overflow-x: auto; background-color: var(--bg); background-repeat: no-repeat; background-attachment: local, local, scroll, scroll;
  background-image: linear-gradient(to right, var(--bg) 40%, transparent), linear-gradient(to left, var(--bg) 40%, transparent),
  linear-gradient(to right, #888b, transparent), linear-gradient(to left, #888b, transparent);
  background-position: 0 0, 100% 0, 0 0, 100% 0; background-size: 3rem 100%, 3rem 100%, 1rem 100%, 1rem 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.word, th.word { text-align: left; }
.good { color: var(--good); stroke: var(--good); fill: var(--good); } .bad { color: var(--bad); stroke: var(--bad); fill: var(--bad); }
.open { color: var(--open); stroke: var(--open); fill: var(--open); } td.good, td.bad, td.open { stroke: none; }
svg { width: 100%; max-width: 60rem; height: auto; } svg text { fill: var(--fg); font-size: 12px; stroke: none; } svg line { stroke-width: 2; }
svg .axis { font-size: 11px; fill: var(--open); } svg .zero { stroke: var(--line); stroke-width: 1; }
svg .margin { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 4 3; }
.differs { border-left: 4px solid var(--bad); padding-left: 1rem; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; }
.curves { display: flex; flex-wrap: wrap; gap: 1rem; } svg.curve { max-width: 26rem; }
.curve .band { fill: var(--good); fill-opacity: .18; stroke: none; } .curve .line { fill: none; stroke: var(--good); stroke-width: 1.5; }
del { color: var(--bad); } ins { color: var(--good); }
dt { font-weight: 600; } article { border-top: 1px solid var(--line); padding: .5rem 0; }
";

/// A page that may load and run nothing, whatever stands in it.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        text(title)
    )
}

/// The whole comparison.
pub fn html(comparison: &Comparison, flips: &[Flip]) -> String {
    page(&format!("{} and {}", comparison.a, comparison.b), &html_body(comparison, flips))
}

/// Returns the content of the comparison, for a page that has [`STYLE`].
pub fn html_body(comparison: &Comparison, flips: &[Flip]) -> String {
    let mut out = format!("<h1>Comparison</h1>\n<p><strong>{}</strong></p>\n", text(&headline(comparison)));
    if !comparison.differences.is_empty() {
        out.push_str("<section class=\"differs\"><h2>What else differs</h2>\n<div class=\"wide\"><table>\n<tr><th></th><th class=\"word\">A</th><th class=\"word\">B</th></tr>\n");
        for difference in &comparison.differences {
            let cells = [&difference.what, &difference.a, &difference.b];
            let cells = cells.map(|cell| format!("<td class=\"word\">{}</td>", text(&Flip::cut(cell))));
            let _ = writeln!(out, "<tr>{}</tr>", cells.concat());
        }
        out.push_str("</table></div></section>\n");
    }
    out.push_str(&forest(&comparison.rows, comparison.margin));
    table(&mut out, comparison);
    out.push_str("<h2>Notes</h2>\n<ul>\n");
    for note in notes(comparison) {
        let _ = writeln!(out, "<li>{}</li>", text(&note));
    }
    out.push_str("</ul>\n");
    if !flips.is_empty() {
        out.push_str("<h2>Flips</h2>\n");
    }
    flips.iter().for_each(|flip| article(&mut out, flip));
    let _ = writeln!(
        out,
        "<h2>Provenance</h2>\n<dl><dt>A</dt><dd>{}, plan {}</dd><dt>B</dt><dd>{}, plan {}</dd></dl>",
        text(&comparison.a),
        text(&comparison.plans.0),
        text(&comparison.b),
        text(&comparison.plans.1)
    );
    out
}

fn table(out: &mut String, comparison: &Comparison) {
    let models = shows_models(comparison);
    out.push_str("<div class=\"wide\"><table>\n<tr>");
    let (interval, p) = (interval_name(comparison), p_name(comparison));
    let names =
        ["dataset", "metric", "pairs", "A", "B", "B - A", &interval, &p, "detectable", "conclusion", "tested by"];
    for name in models.then_some("models").iter().chain(&names) {
        let class = if ["models", "metric", "conclusion", "tested by"].contains(name) { " class=\"word\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", text(name));
    }
    out.push_str("</tr>\n");
    for row in &comparison.rows {
        out.push_str("<tr>");
        if models {
            let _ = write!(out, "<td class=\"word\">{}</td>", text(&models_of(row)));
        }
        let _ =
            write!(out, "<td class=\"word\">{}</td><td class=\"word\">{}</td>", text(&row.dataset), text(&row.metric));
        for cell in row.cells() {
            let _ = write!(out, "<td>{}</td>", text(&cell));
        }
        let class = match row.conclusion {
            Conclusion::Better | Conclusion::WithinMargin => "good",
            Conclusion::Worse | Conclusion::BeyondMargin => "bad",
            Conclusion::Undecided | Conclusion::Inconclusive { .. } => "open",
        };
        let _ = writeln!(
            out,
            "<td class=\"word {class}\">{}</td><td class=\"word\">{}</td></tr>",
            text(&row.said()),
            text(&row.method())
        );
    }
    out.push_str("</table></div>\n");
}

fn article(out: &mut String, flip: &Flip) {
    let side = if flip.gained { "only B is right" } else { "only A is right" };
    let _ = writeln!(
        out,
        "<article><h3>{}, sample {} in A, {} in B: {side}</h3>\n<dl>",
        text(&flip.dataset),
        flip.index_a,
        flip.index_b
    );
    let (answer_a, answer_b) = word_difference(&flip.answer_a, &flip.answer_b);
    for (name, what) in
        [("question", text(&flip.question)), ("gold", text(&flip.gold)), ("A", answer_a), ("B", answer_b)]
    {
        let _ = writeln!(out, "<dt>{name}</dt><dd><pre>{what}</pre></dd>");
    }
    out.push_str("</dl></article>\n");
}

/// Two texts as HTML, with the words marked that only one of them has.
fn word_difference(a: &str, b: &str) -> (String, String) {
    let (mut left, mut right) = (String::new(), String::new());
    for change in TextDiff::from_words(a, b).iter_all_changes() {
        let word = text(change.value());
        match change.tag() {
            ChangeTag::Equal => {
                left.push_str(&word);
                right.push_str(&word);
            }
            ChangeTag::Delete => left.push_str(&format!("<del>{word}</del>")),
            ChangeTag::Insert => right.push_str(&format!("<ins>{word}</ins>")),
        }
    }
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_side_alone_are_marked_and_nothing_runs() {
        let (a, b) = word_difference("the <b> answer is 4", "the <i> answer is 5");
        assert_eq!(a, "the <del>&lt;b&gt;</del> answer is <del>4</del>");
        assert_eq!(b, "the <ins>&lt;i&gt;</ins> answer is <ins>5</ins>");
    }

    #[test]
    fn tables_have_the_width_of_the_window() {
        let body = STYLE.lines().find(|line| line.starts_with("body ")).unwrap();
        assert!(!body.contains("max-width") && STYLE.contains("p, li, dd { max-width: 70rem; }"), "{body}");
        assert!(STYLE.contains(".wide { overflow-x: auto; ") && !STYLE.contains("url("), "the box scrolls");
    }
}
