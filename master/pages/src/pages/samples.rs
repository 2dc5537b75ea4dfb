//! Pages of a run's samples: a list that is filtered, one sample whole, and why some have no score.

use super::layout::layout;
use super::logs::log_path;
use super::text::visible;
use compass_recorded::{FailureClass, Filter, Found, Key, OpenedRun, SampleFacts, SampleQuery};
use maud::{Markup, html};
use serde_json::{Map, Value};

/// The list.
pub(crate) fn samples(run: &OpenedRun, query: &SampleQuery, found: &Found) -> Markup {
    let (name, plan) = (run.folder.name(), &run.recorded.plan);
    let here = format!("/runs/{name}/samples");
    let body = html! {
        h1 { a href={ "/runs/" (name) } { (name) } ": samples" }
        form method="get" action=(here) {
            (choice("model", "all models", &query.model, plan.models.iter().map(|model| model.abbr.as_str())))
            (choice("dataset", "all data sets", &query.dataset, plan.datasets.iter().map(|dataset| dataset.abbr.as_str())))
            (choice("filter", "all samples", &query.filter, Filter::all().map(Filter::name)))
            input name="q" type="search" value=(query.q) placeholder="text" aria-label="a text that question or answer has";
            button { "show" }
        }
        table.samples.wide {
            thead { tr { @for head in ["sample", "model", "data set", "", "question", "answer", "gold"] { th { (head) } } } }
            tbody {
                @for row in &found.rows {
                    tr {
                        td { a href={ (here) "/" (row.key) } { (row.key) } }
                        td { (visible(&row.model)) }
                        td { (visible(&row.dataset)) }
                        td { (row.marks.join(", ")) }
                        td.text { (visible(&row.question)) }
                        td.text { (visible(&row.answer)) }
                        td.text { (visible(&row.gold)) }
                    }
                }
            }
        }
        @if found.rows.is_empty() {
            p { @if found.next.is_some() { "none so far" } @else { "none" } }
        }
        @if let Some(next) = found.next { p { a rel="next" href=(after(&here, query, next)) { "more" } } }
    };
    layout(&format!("samples of {name} - Compass"), None, &body)
}

fn choice<'n>(name: &str, all: &str, chosen: &str, names: impl Iterator<Item = &'n str>) -> Markup {
    html! {
        select name=(name) aria-label=(name) {
            option value="" { (all) }
            @for name in names { option value=(name) selected[name == chosen] { (visible(name)) } }
        }
    }
}

/// The path of the page after `next`.
fn after(here: &str, query: &SampleQuery, next: Key) -> String {
    let mut path = form_urlencoded::Serializer::new(format!("{here}?"));
    for (name, value) in
        [("model", &query.model), ("dataset", &query.dataset), ("filter", &query.filter), ("q", &query.q)]
    {
        if !value.is_empty() {
            path.append_pair(name, value);
        }
    }
    path.append_pair("after", &next.to_string()).finish()
}

/// One sample.
pub(crate) fn sample(run: &str, facts: &SampleFacts) -> Markup {
    let (model, dataset) = (visible(&facts.model), visible(&facts.dataset));
    let list = form_urlencoded::Serializer::new(format!("/runs/{run}/samples?"))
        .append_pair("model", &facts.model)
        .append_pair("dataset", &facts.dataset)
        .finish();
    let body = html! {
        h1 { a href={ "/runs/" (run) } { (run) } ": " a href=(list) { (model) ", " (dataset) } ", sample " (facts.index) }
        p { (facts.marks.join(", ")) }
        @if let Some(Value::Object(record)) = &facts.record { (texts(record)) (options(record)) (thinking(record)) (answers(facts, record)) }
        table.wide { tbody {
            @if let Some(worker) = &facts.worker {
                tr { th scope="row" { "worker" } td { (visible(worker)) (log_link(run, facts.log.as_deref())) } }
            }
            @if let Some(Value::Object(record)) = &facts.record {
                @for (name, value) in record.iter().filter(|(name, value)| !is_shown_elsewhere(name, value)) {
                    tr { th scope="row" { (name) } td { (visible(&as_text(value))) } }
                }
            }
        } }
        @if facts.record.is_none() { p { "This sample has no result." } }
    };
    layout(&format!("sample {} of {dataset} - Compass", facts.index), None, &body)
}

/// The way to a log, where it is kept.
fn log_link(run: &str, log: Option<&str>) -> Markup {
    html! { @if let Some(log) = log { " (" a href=(log_path(run, log)) { "log" } ")" } }
}

const SHOTS: &str = "in-context examples";
const THINKING: &str = "thinking";
const PROMPTS: [&str; 3] = ["origin_prompt", "prompt", "testing input"];
const ANSWERS: [&str; 2] = ["prediction", "gold"];

fn is_shown_elsewhere(name: &str, value: &Value) -> bool {
    name == SHOTS || name == THINKING || PROMPTS.contains(&name) || ANSWERS.contains(&name) || is_option(name, value)
}

fn is_option(name: &str, value: &Value) -> bool {
    name.starts_with("label: ") && value.is_object()
}

/// The options of a sample by their labels.
fn options_of(record: &Map<String, Value>) -> Vec<(&str, &Map<String, Value>)> {
    let options = record.iter().filter(|(name, value)| is_option(name, value));
    options.filter_map(|(name, value)| Some((name.strip_prefix("label: ")?, value.as_object()?))).collect()
}

/// The shots, folded, and the prompt: of options what they all begin with.
fn texts(record: &Map<String, Value>) -> Markup {
    let shots = record.get(SHOTS).map(as_text).filter(|shots| !shots.is_empty());
    let options = options_of(record);
    let prompt = if options.is_empty() {
        PROMPTS.iter().find_map(|name| record.get(*name)).map(as_text)
    } else {
        Some(shared(&inputs(&options)).to_owned()).filter(|shared| !shared.trim().is_empty())
    };
    html! {
        @if let Some(shots) = shots { details { summary { "shots" } pre { (visible(&shots)) } } }
        @if let Some(prompt) = prompt { h2 { "prompt" } pre { (visible(&prompt)) } }
    }
}

/// The texts of options, without shots.
fn inputs(options: &[(&str, &Map<String, Value>)]) -> Vec<String> {
    options.iter().map(|(_, option)| option.get("testing input").map(as_text).unwrap_or_default()).collect()
}

/// Returns the common beginning of all texts, up to the end of a word, so that something is left of each; empty for a single text.
fn shared(texts: &[String]) -> &str {
    let [first, others @ ..] = texts else { return "" };
    if others.is_empty() {
        return "";
    }
    let common = |other: &String| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let most = others.iter().map(common).min().unwrap_or(0);
    // Scripts that write words without blanks are cut anywhere.
    let is_of_word = |character: char| character.is_alphanumeric() && character < '\u{2e80}';
    let ends_well = |at: usize| {
        let before = first.get(..at).and_then(|text| text.chars().next_back());
        let splits = |next: char| is_of_word(next) && before.is_some_and(is_of_word);
        texts.iter().all(|text| text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|next| !splits(next)))
    };
    let at = (1..=most).rev().find(|at| ends_well(*at)).unwrap_or(0);
    &first[..at]
}

/// Shows the scores of each option, with the text that it adds to the prompt.
fn options(record: &Map<String, Value>) -> Markup {
    let options = options_of(record);
    let inputs = inputs(&options);
    let from = shared(&inputs).len();
    let is_number = |value: &Value| !matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_));
    let heads: Vec<&String> = options
        .first()
        .map(|(_, option)| option.iter().filter(|(_, value)| is_number(value)).map(|(name, _)| name).collect())
        .unwrap_or_default();
    html! {
        @if !options.is_empty() {
            h2 { "options" }
            table.wide {
                thead { tr { th { "label" } @for head in &heads { th { (head) } } th { "text" } } }
                tbody {
                    @for ((label, option), input) in options.iter().zip(&inputs) {
                        tr {
                            td { (visible(label)) }
                            @for head in &heads { td.n { (option.get(*head).map(as_text).unwrap_or_default()) } }
                            td.text { (visible(input.get(from..).unwrap_or_default())) }
                        }
                    }
                }
            }
        }
    }
}

/// Shows the thinking before each answer, folded.
fn thinking(record: &Map<String, Value>) -> Markup {
    let thoughts = match record.get(THINKING) {
        Some(Value::Array(each)) => each.iter().map(as_text).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    html! {
        @for thought in thoughts.iter().filter(|thought| !thought.is_empty()) {
            details { summary { "thinking, " (thought.chars().count()) " characters" } pre { (visible(thought)) } }
        }
    }
}

/// Shows the model's answer, the answer extracted from it, and the gold answer.
fn answers(facts: &SampleFacts, record: &Map<String, Value>) -> Markup {
    let text = |name: &str| record.get(name).filter(|value| !value.is_null()).map(as_text);
    let rows = [
        ("prediction", text("prediction")),
        ("extracted", facts.processed.clone().filter(|processed| text("prediction").as_ref() != Some(processed))),
        ("gold", text("gold")),
        ("accepted", (!facts.accepted.is_empty()).then(|| facts.accepted.join("\n"))),
    ];
    html! {
        @for (name, text) in rows {
            @if let Some(text) = text { h2 { (name) } pre { (visible(&text)) } }
        }
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(turns) if turns.iter().all(|turn| turn.get("role").is_some()) => {
            let said = |turn: &Value| turn.get("prompt").or(turn.get("content")).map(as_text).unwrap_or_default();
            let turns = turns.iter().map(|turn| format!("[{}]\n{}\n", as_text(&turn["role"]), said(turn)));
            turns.collect()
        }
        other => other.to_string(),
    }
}

/// Shows the reasons why samples have no score.
pub(crate) fn failures(run: &str, classes: &[FailureClass]) -> Markup {
    let body = html! {
        h1 { a href={ "/runs/" (run) } { (run) } ": failures" }
        p { a href={ "/runs/" (run) "/logs" } { "logs" } " of the run and its workers" }
        table.wide {
            thead { tr { @for head in ["samples", "reason", "first in", "sample", "worker"] { th { (head) } } } }
            tbody {
                @for class in classes {
                    tr {
                        td.n { (class.samples) }
                        td.text { (visible(&class.reason)) }
                        td { (visible(&class.model)) ", " (visible(&class.dataset)) }
                        td { a href={ "/runs/" (run) "/samples/" (class.first) } { (class.first) } }
                        td { (visible(&class.worker)) (log_link(run, class.log.as_deref())) }
                    }
                }
            }
        }
        @if classes.is_empty() { p { "Every sample with a result has a score." } }
    };
    layout(&format!("failures of {run} - Compass"), None, &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn thinking_is_folded_and_shown_once() {
        let record = json!({"prediction": "4", "thinking": "<think", "thinking_tokens": 2});
        let Value::Object(record) = record else { panic!("it is a table") };
        let shown = thinking(&record).into_string();
        assert!(shown.contains("<details><summary>thinking, 6 characters</summary><pre>&lt;think</pre>"), "{shown}");
        assert!(
            is_shown_elsewhere("thinking", &record["thinking"]) && !is_shown_elsewhere("thinking_tokens", &json!(2))
        );
        let several = json!({"thinking": ["a", null, "b"]});
        assert_eq!(thinking(several.as_object().unwrap()).into_string().matches("<details>").count(), 2);
        assert_eq!(thinking(&Map::new()).into_string(), "");
    }

    #[test]
    fn failures_lead_to_the_log_of_their_worker() {
        let class = |log: Option<&str>| FailureClass {
            reason: "the engine died".into(),
            samples: 3,
            model: "m".into(),
            dataset: "d".into(),
            first: Key { unit: 0, index: 49 },
            worker: "local-<b>".into(),
            log: log.map(str::to_owned),
        };
        let page = failures("r", &[class(Some("infer/local.log"))]).into_string();
        assert!(page.contains("<a href=\"/runs/r/logs/infer/local.log\">log</a>") && !page.contains("<b>"), "{page}");
        assert!(page.contains("<a href=\"/runs/r/logs\">logs</a>"), "{page}");
        assert!(!failures("r", &[class(None)]).into_string().contains(">log</a>"));
    }

    fn texts_of(texts: &[&str]) -> String {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        shared(&texts).to_owned()
    }

    #[test]
    fn options_share_whole_words_and_each_keeps_something() {
        assert_eq!(texts_of(&["Q: what?\nA: apple", "Q: what?\nA: apricot"]), "Q: what?\nA: ");
        assert_eq!(texts_of(&["A: yes", "A: yes sir"]), "A: ");
        assert_eq!(texts_of(&["x is 12", "x is 13"]), "x is ");
        assert_eq!(texts_of(&["\u{7b54}\u{6848}\u{662f}", "\u{7b54}\u{6848}\u{5426}"]), "\u{7b54}\u{6848}");
        assert_eq!(texts_of(&["\u{e9}", "\u{e8}"]), "", "they share a byte, and no character");
        assert_eq!((texts_of(&["same", "same"]), texts_of(&["one"]), texts_of(&[])), Default::default());
    }

    fn page_of(record: Value) -> String {
        let facts = SampleFacts {
            model: "m".into(),
            dataset: "d".into(),
            index: 0,
            marks: vec![],
            worker: None,
            log: None,
            processed: None,
            accepted: vec![],
            record: Some(record),
        };
        sample("r", &facts).into_string()
    }

    #[test]
    fn a_sample_with_options_shows_its_question_once_and_what_each_adds() {
        let option = |text: &str| json!({"testing input": format!("Q: 1+1?\nA: {text}"), "prompt": "whole", "Loglikelihood": -1.5});
        let record = json!({"in-context examples": "", "origin_prompt": "Q: 1+1?\nA: 2", "label: A": option("2"),
            "label: B": option("3"), "prediction": "A", "gold": "A"});
        let page = page_of(record);
        assert!(page.contains("<h2>prompt</h2><pre>Q: 1+1?\nA: </pre>"), "{page}");
        assert!(page.contains("<td class=\"text\">2</td>") && page.contains("<td class=\"text\">3</td>"), "{page}");
        assert_eq!(page.matches("1+1").count(), 1, "{page}");
    }

    #[test]
    fn what_there_is_none_of_is_left_out() {
        let page = page_of(json!({"origin_prompt": "text", "ppl": 2.5, "prediction": null}));
        assert!(page.contains("<pre>text</pre>") && page.contains("2.5"), "{page}");
        assert!(
            !page.contains("extracted") && !page.contains("<h2>prediction</h2>") && !page.contains("None"),
            "{page}"
        );
    }
}
