//! The demo's model and data in the repository: generated, never trained on, and well scored.

#[path = "../../../examples/train_demo/scores.rs"]
mod scores;
#[path = "../../../examples/train_demo/text/mod.rs"]
mod text;

use compass_types::ids::Digest;
use std::collections::HashSet;
use std::path::PathBuf;

/// Seed of the files: the example's default.
const SEED: u64 = 20_261_121;
/// A tenth of a training run's documents; all are from the same generator.
const DOCUMENTS: usize = 60_000;

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo")
}

#[test]
fn data_files_equal_the_generators_output() {
    let sums = std::fs::read_to_string(demo().join("data/B3SUMS")).unwrap();
    let files = text::data_files(SEED);
    assert_eq!(sums.lines().count(), files.len());
    for file in files {
        let bytes = std::fs::read(demo().join("data").join(file.name)).unwrap();
        assert_eq!(bytes, file.text().as_bytes(), "{}", file.name);
        assert!(sums.contains(&format!("{}  {}\n", Digest::of(&bytes), file.name)), "{}", file.name);
    }
}

#[test]
fn test_rows_are_not_in_the_training_text() {
    let documents: Vec<String> = text::documents(SEED).take(DOCUMENTS).collect();
    let lines: HashSet<&str> = documents.iter().flat_map(|document| document.lines()).collect();
    let first_words: HashSet<&str> =
        lines.iter().filter_map(|line| line.rsplit_once([' ', ':'])).map(|(begin, _)| begin).collect();
    let whole = documents.join("\n");
    let files = text::data_files(SEED);
    let mut checked = 0;
    for row in files.iter().filter(|file| file.name.contains("_test")).flat_map(|file| &file.rows) {
        if let Some(question) = row.get("question") {
            assert!(!first_words.contains(question.as_str().unwrap()), "{row}");
        } else if let Some(story) = row.get("story") {
            assert!(!whole.contains(story.as_str().unwrap()), "{row}");
        } else {
            for (a, b) in [(&row["a"], &row["b"]), (&row["b"], &row["a"])] {
                assert!(!whole.contains(&format!("Larger of {a} and {b}:")), "{row}");
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 3 * 240);
    // The check detects rows: rows of the training files do occur.
    let shot = &files.iter().find(|file| file.name == "larger_train.jsonl").unwrap().rows[0];
    assert!(whole.contains(&format!("Larger of {} and {}:", shot["a"], shot["b"])));
    assert!(first_words.iter().any(|begin| begin.ends_with(" =")));
}

#[test]
fn model_scores_well_above_chance() {
    let scores = scores::score(&demo().join("model"), &text::data_files(SEED), 1).unwrap();
    for (score, chance) in scores.iter().zip([0.0, 1.0 / 3.0, 0.5]) {
        let share = score.percent / 100.0;
        let margin = 1.96 * (share * (1.0 - share) / score.rows as f64).sqrt();
        eprintln!("{}: {:.2} of {} rows", score.dataset, score.percent, score.rows);
        assert!(score.rows >= 200);
        assert!(share - margin >= (1.0 + chance) / 2.0, "{}: {share:.3} - {margin:.3}", score.dataset);
    }
    assert_eq!(scores.len(), 3);
}
