//! The page of a run's answers by their classes.

use super::layout::layout;
use super::text::visible;
use compass_recorded::why::{ClassOfAnswers, SelectedAnswer, UnitAnswers};
use maud::{Markup, html};

/// Shows the classes of each unit with their accuracy, and the first answers of each, folded.
pub(crate) fn why(run: &str, units: &[UnitAnswers]) -> Markup {
    let body = html! {
        h1 { a href={ "/runs/" (run) } { (run) } ": why" }
        p { "Answers by what became of them. An answer may be of several classes." }
        @for unit in units { (of_unit(run, unit)) }
        @if units.is_empty() { p { "No answers were generated." } }
    };
    layout(&format!("answers of {run} - Compass"), None, &body)
}

fn of_unit(run: &str, unit: &UnitAnswers) -> Markup {
    html! {
        h2 { (visible(&unit.model)) ", " (visible(&unit.dataset)) ": " (unit.answers) " answers, " (percent(unit.right, unit.judged)) " right" }
        @if unit.classes.is_empty() { p { "None of them is of a class." } }
        @if !unit.classes.is_empty() {
            table.wide {
                thead { tr { @for head in ["class", "answers", "share", "right"] { th { (head) } } } }
                tbody {
                    @for class in &unit.classes {
                        tr {
                            td { a href=(samples(run, unit, class)) { (class.class) } }
                            td.n { (class.answers) }
                            td.n { (percent(class.answers, unit.answers)) }
                            td.n { (percent(class.right, class.judged)) }
                        }
                    }
                }
            }
            @for class in &unit.classes { (first(run, class)) }
        }
    }
}

/// The path of the samples of a class. Verdicts of the second reading that differ have no filter: all samples of the unit are shown.
fn samples(run: &str, unit: &UnitAnswers, class: &ClassOfAnswers) -> String {
    let here = format!("/runs/{run}/samples?");
    let begin = here.len();
    let mut path = form_urlencoded::Serializer::for_suffix(here, begin);
    path.append_pair("model", &unit.model).append_pair("dataset", &unit.dataset);
    if !class.class.starts_with("read_") {
        path.append_pair("filter", class.class);
    }
    path.finish()
}

fn first(run: &str, class: &ClassOfAnswers) -> Markup {
    html! {
        details {
            summary { (class.class) ", the first " (class.first.len()) }
            table.samples.wide {
                thead { tr { @for head in ["sample", "", "question", "answer", "compared", "read", "gold"] { th { (head) } } } }
                tbody { @for answer in &class.first { (row(run, answer)) } }
            }
        }
    }
}

fn row(run: &str, answer: &SelectedAnswer) -> Markup {
    let decision = match answer.right {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "",
    };
    html! {
        tr {
            td { a href={ "/runs/" (run) "/samples/" (answer.key) } { (answer.key) } }
            td { (decision) }
            td.text { (visible(&answer.question)) }
            td.text { (visible(&answer.begin)) @if !answer.end.is_empty() { " … " (visible(&answer.end)) } }
            td.text { (visible(&answer.processed)) }
            td.text { (visible(answer.read.as_deref().unwrap_or_default())) }
            td.text { (visible(&answer.gold)) }
        }
    }
}

fn percent(part: u64, of: u64) -> String {
    if of == 0 { String::new() } else { format!("{:.1} %", 100.0 * part as f64 / of as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_recorded::Key;

    #[test]
    fn classes_lead_to_their_samples_and_texts_are_no_markup() {
        let answer = SelectedAnswer {
            key: Key { unit: 0, index: 7 },
            answer: 0,
            question: "Q".into(),
            begin: "<b>so".into(),
            end: String::new(),
            processed: "A".into(),
            read: Some("B".into()),
            gold: "B".into(),
            right: Some(false),
        };
        let class = |class, first| ClassOfAnswers { class, answers: 2, judged: 2, right: 1, first };
        let classes = vec![class("cut", vec![answer]), class("read_right", Vec::new())];
        let unit = UnitAnswers {
            model: "m".into(),
            dataset: "d".into(),
            reading: None,
            answers: 8,
            judged: 8,
            right: 4,
            classes,
        };
        let page = why("r", &[unit]).into_string();
        assert!(page.contains("m, d: 8 answers, 50.0 % right"), "{page}");
        assert!(page.contains("/runs/r/samples?model=m&amp;dataset=d&amp;filter=cut"), "{page}");
        assert!(page.contains("/runs/r/samples/0.7") && page.contains("25.0 %") && !page.contains("<b>so"), "{page}");
        assert!(!page.contains("filter=read_right"), "{page}");
        assert!(why("r", &[]).into_string().contains("No answers were generated."));
    }
}
