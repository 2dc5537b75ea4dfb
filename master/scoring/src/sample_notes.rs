//! What happened to samples that have a score, said once for all models and data sets: prompts that did not fit `max_seq_len` as
//! they were planned, on the screen; answers whose score a reader would not expect, below the table.

use super::reasons;
use compass_common::words::{counted, grouped};
use compass_diagnostic::Diagnostic;
use serde_json::{Map, Value};

/// Most results that a note names.
const NAMED: usize = 6;

/// A list of samples in a results document, and what it says of one and of several.
#[derive(Debug)]
struct Happening {
    key: &'static str,
    one: &'static str,
    several: &'static str,
}

const FIT: [Happening; 2] = [
    Happening {
        key: "too_long",
        one: "is too long for max_seq_len and was truncated",
        several: "are too long for max_seq_len and were truncated",
    },
    Happening {
        key: "fewer_shots",
        one: "was asked with fewer examples than planned, to fit max_seq_len",
        several: "were asked with fewer examples than planned, to fit max_seq_len",
    },
];

const JUDGED: [Happening; 2] = [
    Happening {
        key: "empty_right",
        one: "counts as right with an empty answer, as the evaluator compares",
        several: "count as right with an empty answer, as the evaluator compares",
    },
    Happening {
        key: "gold_unread",
        one: "has a gold answer in which `dataset_postprocessor` finds nothing: no answer equals it",
        several: "have a gold answer in which `dataset_postprocessor` finds nothing: no answer equals it",
    },
];

/// The indices of samples by result (`model/dataset`), in the plan's order.
type Listed = Vec<(String, Vec<Value>)>;

/// Samples to which something happened.
#[derive(Debug, Default)]
pub(super) struct SampleNotes {
    fit: [Listed; FIT.len()],
    judged: [Listed; JUDGED.len()],
    /// Lines on answers whose thinking did not end, one for each result that has a share of them worth a word.
    unfinished: Vec<String>,
    /// Lines on answers of other classes.
    classes: Vec<String>,
    /// Lines on second readings, one for each result of which enough decisions differ.
    readings: Vec<String>,
}

/// Least share of unfinished answers that is said, in percent.
const LEAST_UNFINISHED: f64 = 1.0;
/// Least share of the answers of another class that is said, in percent.
const LEAST_OF_A_CLASS: f64 = 2.0;
/// Classes that are not of a thinking, with the words for their answers.
const CLASSES: [(&str, &str); 8] = [
    ("cut", "are cut at their length"),
    ("empty", "are empty"),
    ("refused", "are refusals"),
    ("looping", "repeat themselves"),
    ("not_found", "hold nothing that `answer` finds"),
    ("last_resort", "are read by a last resort"),
    ("outside", "name something else than an option"),
    ("undecided", "are undecided"),
];
/// Least share of decisions that differ when answers are read a second time, in percent, and least number of them.
const LEAST_DIFFERENT: f64 = 1.0;
const FEWEST_DIFFERENT: u64 = 2;

impl SampleNotes {
    /// Takes note of what the document of a result says.
    pub(crate) fn add(&mut self, name: &str, document: &Map<String, Value>) {
        let all = FIT.iter().zip(&mut self.fit).chain(JUDGED.iter().zip(&mut self.judged));
        for (happening, listed) in all {
            let indices = document.get(happening.key).and_then(Value::as_array);
            listed.extend(indices.map(|indices| (name.to_owned(), indices.clone())));
        }
        self.unfinished.extend(unfinished(name, document));
        self.classes.extend(classes(name, document));
        self.readings.extend(reading(name, document));
    }

    /// A note for each way in which prompts did not fit.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Diagnostic> {
        FIT.iter().zip(&self.fit).filter_map(|(happening, listed)| Some(Diagnostic::note(said(listed, happening)?)))
    }

    /// A line below the table for each kind of score that a reader would not expect.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let judged = JUDGED.iter().zip(&self.judged).filter_map(|(happening, listed)| said(listed, happening));
        let unfinished = first_lines(&self.unfinished, "have unfinished answers");
        let readings = first_lines(&self.readings, "have decisions that differ as `answer` reads");
        let classes = first_lines(&self.classes, "have answers that `compass-master why` sorts");
        judged.chain(unfinished).chain(classes).chain(readings)
    }
}

/// The first lines, and how many more results have what they say.
fn first_lines(lines: &[String], what: &str) -> impl Iterator<Item = String> {
    let (named, more) = lines.split_at(lines.len().min(NAMED));
    let more = (!more.is_empty()).then(|| format!("{} more results {what}", more.len()));
    named.iter().cloned().chain(more)
}

/// Returns a line on the second reading of a result, where at least [`LEAST_DIFFERENT`] percent of its decisions differ.
fn reading(name: &str, document: &Map<String, Value>) -> Option<String> {
    let reading = document.get("reading")?;
    let count = |pointer: &str| reading.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let (decisions, up, down) = (count("/decisions"), count("/differs/up"), count("/differs/down"));
    if up + down < FEWEST_DIFFERENT || ((up + down) as f64) < decisions as f64 * LEAST_DIFFERENT / 100.0 {
        return None;
    }
    let accuracy = reading.get("accuracy").and_then(Value::as_f64)?;
    Some(format!(
        "{name}: {accuracy:.2} as `answer` reads: {} of {} decisions differ ({} up, {} down)",
        grouped(up + down),
        grouped(decisions),
        grouped(up),
        grouped(down)
    ))
}

/// Returns a line on the answers of a result that are of other classes, each from its share of [`LEAST_OF_A_CLASS`] on.
fn classes(name: &str, document: &Map<String, Value>) -> Option<String> {
    let answers = document.get("answers")?;
    let count = |key: &str| answers.get(key).and_then(Value::as_u64).unwrap_or(0);
    let all = count("answers");
    let is_worth_a_word = |count: u64| count > 0 && count as f64 >= all as f64 * LEAST_OF_A_CLASS / 100.0;
    let found = CLASSES.iter().map(|(key, what)| (count(key), what)).filter(|(count, _)| is_worth_a_word(*count));
    let said: Vec<String> = found.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
    let unit = name.replacen('/', " ", 1);
    (!said.is_empty())
        .then(|| format!("{name}: of {} answers {} (compass-master why RUN {unit})", grouped(all), said.join(", ")))
}

/// Returns a line on the answers of a result whose thinking did not end, from its share of [`LEAST_UNFINISHED`] on.
fn unfinished(name: &str, document: &Map<String, Value>) -> Option<String> {
    let answers = document.get("answers")?;
    let count = |key: &str| answers.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (cut, ended, all) = (count("unfinished"), count("thought_only"), count("answers"));
    if cut + ended == 0 || ((cut + ended) as f64) < all as f64 * LEAST_UNFINISHED / 100.0 {
        return None;
    }
    let apart = match (cut, ended) {
        (_, 0) => "they met their length".to_owned(),
        (0, _) => "the model ended within its thinking".to_owned(),
        (cut, ended) => {
            format!("{} met their length, in {} the model ended within its thinking", grouped(cut), grouped(ended))
        }
    };
    let median = answers.pointer("/thinking_tokens/median").and_then(Value::as_u64).unwrap_or(0);
    let bound = |key: &str| document.get("bounds")?.get(key)?.as_f64();
    let bounds = match (bound("if_right"), bound("low"), bound("high")) {
        (Some(share), Some(low), Some(high)) => format!("; {share:.2} if all were right, bounds {low:.1} to {high:.1}"),
        _ => String::new(),
    };
    Some(format!(
        "{name}: {} of {} answers are unfinished and count as wrong: {apart}; median thinking {} tokens{bounds}",
        grouped(cut + ended),
        grouped(all),
        grouped(median)
    ))
}

fn said(results: &Listed, happening: &Happening) -> Option<String> {
    let all: u64 = results.iter().map(|(_, indices)| indices.len() as u64).sum();
    let what = if all == 1 { happening.one } else { happening.several };
    Some(match results.as_slice() {
        [] => return None,
        [(name, indices)] => format!("{name}: {} {what}: {}", counted(all, "sample"), reasons::some(indices)),
        several => {
            let result = |(name, indices): &(String, Vec<Value>)| format!("{name} {}", grouped(indices.len() as u64));
            let named: Vec<String> = several.iter().take(NAMED).map(result).collect();
            let more = several.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{} samples of {} results {what}: {}{more}", grouped(all), several.len(), named.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn add(notes: &mut SampleNotes, name: &str, document: Value) {
        notes.add(name, document.as_object().unwrap());
    }

    #[test]
    fn classes_and_bounds_of_answers_are_said_where_a_share_matters() {
        let mut notes = SampleNotes::default();
        let answers = json!({
            "answers": 1920, "unfinished": 230, "cut": 20, "looping": 39, "not_found": 100, "thinking_tokens": {"median": 9412}
        });
        let bounds = json!({"if_right": 73.33333, "low": 47.28, "high": 86.14});
        add(&mut notes, "m/a", json!({"answers": answers, "bounds": bounds}));
        add(&mut notes, "m/b", json!({"answers": {"answers": 100, "cut": 1}}));
        assert_eq!(
            notes.remarks().collect::<Vec<_>>(),
            [
                "m/a: 230 of 1,920 answers are unfinished and count as wrong: they met their length; median thinking 9,412 tokens; \
                 73.33 if all were right, bounds 47.3 to 86.1",
                "m/a: of 1,920 answers 39 repeat themselves, 100 hold nothing that `answer` finds (compass-master why RUN m a)",
            ]
        );
    }

    #[test]
    fn many_results_have_one_note() {
        let mut notes = SampleNotes::default();
        add(&mut notes, "m/a", json!({"too_long": [3]}));
        assert_eq!(said(&notes), ["m/a: 1 sample is too long for max_seq_len and was truncated: 3"]);
        add(&mut notes, "m/b", json!({}));
        for at in 0..38 {
            add(&mut notes, &format!("m/d{at}"), json!({"too_long": vec![1; 79], "fewer_shots": [1, 2]}));
        }
        let [long, shots] = said(&notes).try_into().unwrap();
        assert_eq!(
            long,
            "3,003 samples of 39 results are too long for max_seq_len and were truncated: m/a 1, m/d0 79, m/d1 79, m/d2 79, \
             m/d3 79, m/d4 79 and 33 more"
        );
        assert!(shots.starts_with("76 samples of 38 results were asked with fewer examples than planned"), "{shots}");
    }

    #[test]
    fn scores_that_a_reader_would_not_expect_stand_below_the_table() {
        let mut notes = SampleNotes::default();
        add(&mut notes, "m/a", json!({"empty_right": [3, 8], "gold_unread": [5]}));
        assert_eq!(
            notes.remarks().collect::<Vec<_>>(),
            [
                "m/a: 2 samples count as right with an empty answer, as the evaluator compares: 3, 8",
                "m/a: 1 sample has a gold answer in which `dataset_postprocessor` finds nothing: no answer equals it: 5",
            ]
        );
        assert_eq!(said(&notes), [""; 0]);
    }

    #[test]
    fn second_readings_are_said_where_enough_verdicts_differ() {
        let mut notes = SampleNotes::default();
        let reading = |up: u64, down: u64, decisions: u64| json!({"reading": {"accuracy": 59.595959, "decisions": decisions, "differs": {"up": up, "down": down}}});
        add(&mut notes, "m/gpqa", reading(18, 0, 198));
        add(&mut notes, "m/share", reading(10, 9, 2000));
        add(&mut notes, "m/number", reading(1, 0, 10));
        add(&mut notes, "m/none", json!({}));
        let line = "m/gpqa: 59.60 as `answer` reads: 18 of 198 decisions differ (18 up, 0 down)";
        assert_eq!(notes.remarks().collect::<Vec<_>>(), [line]);
        add(&mut notes, "m/enough", reading(1, 1, 200));
        (0..9).for_each(|at| add(&mut notes, &format!("m/{at}"), reading(2, 0, 2)));
        let remarks: Vec<String> = notes.remarks().collect();
        assert_eq!(
            (remarks.len(), remarks.last().unwrap().as_str()),
            (7, "5 more results have decisions that differ as `answer` reads")
        );
    }

    fn said(notes: &SampleNotes) -> Vec<String> {
        notes.notes().map(|note| note.message).collect()
    }
}
