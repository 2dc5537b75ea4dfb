//! What did not fit `max_seq_len` as it was planned, said once for all models and data sets.

use super::reasons;
use compass_common::words::{counted, grouped};
use compass_diagnostic::Diagnostic;
use serde_json::Value;

/// Most results that a note names.
const NAMED: usize = 6;

/// Samples that were shortened, by result (`model/dataset`), in the plan's order.
#[derive(Debug, Default)]
pub(super) struct FitNotes {
    too_long: Vec<(String, Vec<Value>)>,
    fewer_shots: Vec<(String, Vec<Value>)>,
}

impl FitNotes {
    /// Takes note of what the document of a result says.
    pub(super) fn add(&mut self, name: &str, document: &Value) {
        let ids = |key: &str| Some((name.to_owned(), document.get(key)?.as_array()?.clone()));
        self.too_long.extend(ids("too_long"));
        self.fewer_shots.extend(ids("fewer_shots"));
    }

    /// One note for each of the two.
    pub(super) fn notes(&self) -> impl Iterator<Item = Diagnostic> {
        let too_long = note(&self.too_long, |count| match count {
            1 => "is too long for max_seq_len and was truncated",
            _ => "are too long for max_seq_len and were truncated",
        });
        let fewer_shots = note(&self.fewer_shots, |count| match count {
            1 => "was asked with fewer examples than planned, to fit max_seq_len",
            _ => "were asked with fewer examples than planned, to fit max_seq_len",
        });
        too_long.into_iter().chain(fewer_shots)
    }
}

fn note(results: &[(String, Vec<Value>)], what: fn(u64) -> &'static str) -> Option<Diagnostic> {
    let all: u64 = results.iter().map(|(_, ids)| ids.len() as u64).sum();
    let text = match results {
        [] => return None,
        [(name, ids)] => format!("{name}: {} {}: {}", counted(all, "sample"), what(all), reasons::some(ids)),
        several => {
            let named: Vec<String> =
                several.iter().take(NAMED).map(|(name, ids)| format!("{name} {}", grouped(ids.len() as u64))).collect();
            let more = several.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let (named, samples) = (named.join(", "), grouped(all));
            format!("{samples} samples of {} results {}: {named}{more}", several.len(), what(all))
        }
    };
    Some(Diagnostic::note(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn many_results_have_one_note() {
        let mut notes = FitNotes::default();
        notes.add("m/a", &json!({"too_long": [3]}));
        assert_eq!(said(&notes), ["m/a: 1 sample is too long for max_seq_len and was truncated: 3"]);
        notes.add("m/b", &json!({}));
        for at in 0..38 {
            notes.add(&format!("m/d{at}"), &json!({"too_long": vec![1; 79], "fewer_shots": [1, 2]}));
        }
        let [long, shots] = said(&notes).try_into().unwrap();
        assert_eq!(
            long,
            "3,003 samples of 39 results are too long for max_seq_len and were truncated: m/a 1, m/d0 79, m/d1 79, m/d2 79, \
             m/d3 79, m/d4 79 and 33 more"
        );
        assert!(shots.starts_with("76 samples of 38 results were asked with fewer examples than planned"), "{shots}");
    }

    fn said(notes: &FitNotes) -> Vec<String> {
        notes.notes().map(|note| note.message).collect()
    }
}
