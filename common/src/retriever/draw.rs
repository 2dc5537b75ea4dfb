//! Draws the shots of every test row at once, so that no schedule can change a prompt.

use super::RetrieverKind;
use crate::python_random::PythonRandom;

/// Per test row, the rows of the training split to show, first shown first.
///
/// `train_rows` is the size of the pool after its range was applied. The `sampled` kind is one stream over the test rows
/// in order (lm-eval's `default` sampler on a single rank); it must therefore see all of them, never a shard.
///
/// # Errors
/// In words, when an id or a count reaches beyond the pool.
pub fn draw(kind: &RetrieverKind, test_rows: usize, train_rows: usize) -> Result<Vec<Vec<u32>>, String> {
    match kind {
        RetrieverKind::Zero => Ok(vec![Vec::new(); test_rows]),
        RetrieverKind::FixK { ids } => {
            let beyond: Vec<String> =
                ids.iter().filter(|&&id| id as usize >= train_rows).map(ToString::to_string).collect();
            if !beyond.is_empty() {
                return Err(format!(
                    "the retriever asks for training row {}, but the pool has {train_rows} rows (0 is the first): \
                     correct `ids`, or widen `train_range`",
                    beyond.join(", ")
                ));
            }
            Ok(vec![ids.clone(); test_rows])
        }
        RetrieverKind::FirstN { k } => {
            enough(*k, train_rows)?;
            Ok(vec![(0..*k).collect(); test_rows])
        }
        RetrieverKind::Sampled { k, seed } => {
            enough(*k, train_rows)?;
            let pool = u32::try_from(train_rows).map_err(|_| format!("a pool of {train_rows} rows is too large"))?;
            let mut stream = PythonRandom::new(*seed);
            (0..test_rows).map(|_| stream.sample(pool, *k).ok_or_else(|| too_few(*k, train_rows))).collect()
        }
    }
}

fn enough(k: u32, train_rows: usize) -> Result<(), String> {
    if k as usize <= train_rows { Ok(()) } else { Err(too_few(k, train_rows)) }
}

fn too_few(k: u32, train_rows: usize) -> String {
    format!(
        "the retriever asks for {k} shots, but the pool has {train_rows} rows: ask for fewer, or widen `train_range`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_ids_are_shown_as_written() {
        let kind = RetrieverKind::FixK { ids: vec![2, 0, 2] };
        assert_eq!(draw(&kind, 2, 3), Ok(vec![vec![2, 0, 2], vec![2, 0, 2]]));
        assert_eq!(draw(&RetrieverKind::Zero, 2, 0), Ok(vec![vec![], vec![]]));
        assert_eq!(draw(&RetrieverKind::FirstN { k: 2 }, 1, 3), Ok(vec![vec![0, 1]]));
    }

    #[test]
    fn sampling_is_one_stream_over_the_questions() {
        let kind = RetrieverKind::Sampled { k: 5, seed: 1234 };
        assert_eq!(draw(&kind, 2, 7473), Ok(vec![vec![6374, 3610, 957, 61, 742], vec![7462, 6610, 4769, 286, 5501]]));
    }

    #[test]
    fn a_pool_too_small_is_named() {
        let error = draw(&RetrieverKind::FixK { ids: vec![0, 5, 9] }, 1, 5).unwrap_err();
        assert!(error.contains("training row 5, 9") && error.contains("5 rows"), "{error}");
        for kind in [RetrieverKind::FirstN { k: 6 }, RetrieverKind::Sampled { k: 6, seed: 0 }] {
            assert!(draw(&kind, 0, 5).unwrap_err().contains("6 shots"));
        }
    }
}
