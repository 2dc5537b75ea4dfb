//! Draws the shots of every test row at once, so that no schedule can change a prompt.

use super::RetrieverKind;
use super::bm25::Bm25;
use super::words::word_tokenize;
use crate::prompt::{Row, RowSource, each_row};
use compass_pyfmt::PythonRandom;
use compass_pyfmt::python_str;
use std::borrow::Cow;

/// Per test row, the rows of the training split to show, first shown first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draws {
    /// The same for every test row.
    Same(Vec<u32>),
    /// The rows of each test row in order.
    Each(Vec<Vec<u32>>),
}

impl Draws {
    /// The rows to show before the question of a test row.
    pub fn of(&self, test_row: usize) -> &[u32] {
        match self {
            Self::Same(rows) => rows,
            Self::Each(rows) => rows.get(test_row).map_or(&[], Vec::as_slice),
        }
    }

    /// Returns the number of test rows that are shown before themselves: a row of the training split that equals them,
    /// with its answer.
    pub fn own_questions(&self, test: &dyn RowSource, train: &dyn RowSource) -> u32 {
        let shown = |rows: &[u32]| rows.iter().filter_map(|&at| train.row(at as usize)).collect::<Vec<_>>();
        let own = match self {
            Self::Same(rows) => {
                let shown = shown(rows);
                if shown.is_empty() { 0 } else { each_row(test).filter(|row| shown.contains(row)).count() }
            }
            Self::Each(rows) => each_row(test).zip(rows).filter(|(row, rows)| shown(rows).contains(row)).count(),
        };
        u32::try_from(own).unwrap_or(u32::MAX)
    }
}

/// Draws the shots of every test row.
///
/// Both splits are as their ranges left them. `sampled` and `random` are one stream over the test rows in order (lm-eval's
/// `default` sampler on a single rank); they must therefore see all of them, never a shard.
///
/// # Errors
/// In words, when an id or a count reaches beyond the pool.
pub fn draw(kind: &RetrieverKind, test: &dyn RowSource, train: &dyn RowSource) -> Result<Draws, String> {
    let pool = u32::try_from(train.len()).map_err(|_| format!("a pool of {} rows is too large", train.len()))?;
    match kind {
        RetrieverKind::Zero => Ok(Draws::Same(Vec::new())),
        RetrieverKind::FixK { ids, exclude_question } => {
            let beyond: Vec<String> = ids.iter().filter(|&&id| id >= pool).map(ToString::to_string).collect();
            if !beyond.is_empty() {
                return Err(format!(
                    "the retriever asks for training row {}, but the pool has {pool} rows (0 is the first): \
                     correct `ids`, or widen `train_range`",
                    beyond.join(", ")
                ));
            }
            if !exclude_question {
                return Ok(Draws::Same(ids.clone()));
            }
            let others = |row: Cow<'_, Row>| ids.iter().copied().filter(|id| differs(*id, &row, train)).collect();
            Ok(Draws::Each(each_row(test).map(others).collect()))
        }
        RetrieverKind::Random { k, seed, exclude_question } => {
            enough(*k, pool)?;
            let mut stream = PythonRandom::from_numpy_seed(*seed);
            let mut drawn =
                |row: Cow<'_, Row>| first_of(shuffled(&mut stream, pool), *k, *exclude_question, &row, train);
            Ok(Draws::Each(each_row(test).map(&mut drawn).collect::<Result<_, String>>()?))
        }
        RetrieverKind::Bm25 { k, columns, exclude_question } => {
            enough(*k, pool)?;
            let words = |row: &Row| word_tokenize(&joined(row, columns));
            let index = Bm25::new(each_row(train).map(|row| words(&row)));
            let best = |row: Cow<'_, Row>| first_of(index.best(&words(&row)), *k, *exclude_question, &row, train);
            Ok(Draws::Each(each_row(test).map(best).collect::<Result<_, String>>()?))
        }
        RetrieverKind::SlidingWindow { k } => {
            enough(*k, pool)?;
            let last = test.len().saturating_sub(1);
            if last > train.len() {
                return Err(format!(
                    "the retriever shows the {k} rows before each question, but the pool has {pool} rows and there are {} \
                     questions: ask fewer, or widen `train_range`",
                    test.len()
                ));
            }
            Ok(Draws::Each((0..test.len() as u32).map(|at| window(at, *k, pool)).collect()))
        }
        RetrieverKind::FirstN { k, exclude_question: false } => {
            enough(*k, pool)?;
            Ok(Draws::Same((0..*k).collect()))
        }
        RetrieverKind::FirstN { k, exclude_question: true } => {
            let first = |row: Cow<'_, Row>| {
                let others: Vec<u32> = others(&row, train).take(*k as usize).collect();
                if others.len() < *k as usize { Err(too_few(*k, others.len() as u32)) } else { Ok(others) }
            };
            Ok(Draws::Each(each_row(test).map(first).collect::<Result<_, String>>()?))
        }
        RetrieverKind::Sampled { k, seed, exclude_question } => {
            let drawn = if *exclude_question { k.saturating_add(1) } else { *k };
            enough(drawn, pool)?;
            let mut stream = PythonRandom::new(*seed);
            let sample = |row: Cow<'_, Row>| {
                let ids = stream.sample(pool, drawn).ok_or_else(|| too_few(drawn, pool))?;
                if !exclude_question {
                    return Ok(ids);
                }
                let differs = |id: &u32| differs(*id, &row, train);
                let kept: Vec<u32> = ids.into_iter().filter(differs).take(*k as usize).collect();
                if kept.len() == *k as usize {
                    return Ok(kept);
                }
                // Several copies of the question were drawn: lm-eval draws again where none is left.
                let others: Vec<u32> = others(&row, train).collect();
                let count = others.len() as u32;
                let again = stream.sample(count, *k).ok_or_else(|| too_few(*k, count))?;
                Ok(again.into_iter().filter_map(|at| others.get(at as usize).copied()).collect())
            };
            Ok(Draws::Each(each_row(test).map(sample).collect::<Result<_, String>>()?))
        }
    }
}

/// The first `k` of `ranked`, without rows that are the question where these are excluded.
fn first_of(
    ranked: Vec<u32>,
    k: u32,
    exclude_question: bool,
    row: &Row,
    train: &dyn RowSource,
) -> Result<Vec<u32>, String> {
    let kept = |id: &u32| !exclude_question || differs(*id, row, train);
    let first: Vec<u32> = ranked.into_iter().filter(kept).take(k as usize).collect();
    if first.len() == k as usize { Ok(first) } else { Err(too_few(k, first.len() as u32)) }
}

fn differs(id: u32, row: &Row, train: &dyn RowSource) -> bool {
    train.row(id as usize).is_some_and(|shown| *shown != *row)
}

/// The rows of the pool that are not the question.
fn others(row: &Row, train: &dyn RowSource) -> impl Iterator<Item = u32> {
    (0u32..).zip(each_row(train)).filter(move |(_, shown)| **shown != *row).map(|(at, _)| at)
}

/// The input of a row: its columns as Python prints them, joined by a space.
fn joined(row: &Row, columns: &[String]) -> String {
    let texts: Vec<String> = columns.iter().filter_map(|column| row.get(column)).map(python_str).collect();
    texts.join(" ")
}

/// A shuffled range; its first `k` are `numpy.random.choice(n, k, replace=False)`.
fn shuffled(stream: &mut PythonRandom, n: u32) -> Vec<u32> {
    let mut pool: Vec<u32> = (0..n).collect();
    for i in (1..n).rev() {
        let j = stream.numpy_below(i + 1);
        pool.swap(i as usize, j as usize);
    }
    pool
}

/// The rows before position `at`, filled up with the end of the pool.
fn window(at: u32, k: u32, pool: u32) -> Vec<u32> {
    let padding = k.saturating_sub(at).min(pool);
    (pool - padding..pool).chain(at.saturating_sub(k)..at).collect()
}

fn enough(k: u32, pool: u32) -> Result<(), String> {
    if k <= pool { Ok(()) } else { Err(too_few(k, pool)) }
}

fn too_few(k: u32, pool: u32) -> String {
    format!("the retriever asks for {k} shots, but the pool has {pool} rows: ask for fewer, or widen `train_range`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rows(count: usize) -> Vec<Row> {
        (0..count).map(|at| json!({"q": at}).as_object().unwrap().clone()).collect()
    }

    /// The draws of each test row.
    fn drawn(kind: &RetrieverKind, test: &Vec<Row>, train: &Vec<Row>) -> Result<Vec<Vec<u32>>, String> {
        let draws = draw(kind, test, train)?;
        Ok((0..test.len()).map(|at| draws.of(at).to_vec()).collect())
    }

    #[test]
    fn fixed_ids_are_shown_as_written() {
        let kind = RetrieverKind::FixK { ids: vec![2, 0, 2], exclude_question: false };
        assert_eq!(drawn(&kind, &rows(2), &rows(3)), Ok(vec![vec![2, 0, 2], vec![2, 0, 2]]));
        assert_eq!(drawn(&RetrieverKind::Zero, &rows(2), &Vec::new()), Ok(vec![vec![], vec![]]));
        let first = RetrieverKind::FirstN { k: 2, exclude_question: false };
        assert_eq!(drawn(&first, &rows(1), &rows(3)), Ok(vec![vec![0, 1]]));
    }

    #[test]
    fn sampling_is_one_stream_over_the_questions() {
        let kind = RetrieverKind::Sampled { k: 5, seed: 1234, exclude_question: false };
        let expected = vec![vec![6374, 3610, 957, 61, 742], vec![7462, 6610, 4769, 286, 5501]];
        assert_eq!(drawn(&kind, &rows(2), &rows(7473)), Ok(expected));
    }

    fn goldens() -> Value {
        serde_json::from_str(include_str!("../../tests/goldens/retrievers.json")).unwrap()
    }

    /// `tests/goldens/retrievers.py`: lm-eval's own samplers over ten rows, five of them alike.
    #[test]
    fn the_question_is_never_among_its_shots() {
        let goldens = &goldens()["samplers"];
        let named = |at: &Value| json!({"q": at}).as_object().unwrap().clone();
        let pool: Vec<Row> = goldens["pool"].as_array().unwrap().iter().map(named).collect();
        for golden in goldens["drawn"].as_array().unwrap() {
            let k = golden["k"].as_u64().unwrap() as u32;
            for (key, kind) in [
                ("sampled", RetrieverKind::Sampled { k, seed: 1234, exclude_question: true }),
                ("first_n", RetrieverKind::FirstN { k, exclude_question: true }),
            ] {
                let shown = |ids: Vec<u32>| ids.into_iter().map(|id| pool[id as usize]["q"].clone()).collect::<Value>();
                let found: Value = drawn(&kind, &pool, &pool).unwrap().into_iter().map(shown).collect();
                assert_eq!(found, golden[key], "{key} {k}");
            }
        }
    }

    /// `tests/goldens/retrievers.py`: `numpy.random.seed(43)`, then `numpy.random.choice(n, k, replace=False)` again and
    /// again.
    #[test]
    fn random_is_numpys_choice() {
        for golden in goldens()["random"].as_array().unwrap() {
            let number = |key: &str| golden[key].as_u64().unwrap() as u32;
            let expected = golden["draws"].as_array().unwrap();
            let kind = RetrieverKind::Random { k: number("k"), seed: number("seed"), exclude_question: false };
            let found = drawn(&kind, &rows(expected.len()), &rows(number("pool") as usize)).unwrap();
            assert_eq!(json!(found), json!(expected));
        }
    }

    #[test]
    fn a_question_among_its_shots_is_counted_or_left_out() {
        let text = |at: u32| json!({"q": format!("how many apples are in box {at}"), "a": at});
        let rows: Vec<Row> = (0..6).map(|at| text(at).as_object().unwrap().clone()).collect();
        let columns = vec!["q".to_owned()];
        let of = |exclude_question| {
            [
                RetrieverKind::Bm25 { k: 1, columns: columns.clone(), exclude_question },
                RetrieverKind::Random { k: 3, seed: 43, exclude_question },
                RetrieverKind::FixK { ids: vec![0, 2], exclude_question },
            ]
        };
        let counts = |kinds: [RetrieverKind; 3]| {
            kinds.map(|kind| {
                let draws = draw(&kind, &rows, &rows).unwrap();
                let by_hand = (0..6).filter(|at| draws.of(*at).contains(&(*at as u32))).count();
                assert_eq!(draws.own_questions(&rows, &rows) as usize, by_hand, "{kind:?}");
                by_hand
            })
        };
        let [bm25, random, fixed] = counts(of(false));
        assert_eq!((bm25, fixed), (6, 2));
        assert!(random > 0);
        assert_eq!(counts(of(true)), [0; 3]);
        let fixed = RetrieverKind::FixK { ids: vec![0, 2], exclude_question: true };
        assert_eq!(drawn(&fixed, &rows, &rows).unwrap()[..3], [vec![2], vec![0, 2], vec![0]]);
        let all = RetrieverKind::Random { k: 6, seed: 43, exclude_question: true };
        assert!(drawn(&all, &rows, &rows).unwrap_err().contains("6 shots, but the pool has 5 rows"));
    }

    #[test]
    fn a_window_slides_over_the_pool() {
        let kind = RetrieverKind::SlidingWindow { k: 2 };
        let expected = vec![vec![3, 4], vec![4, 0], vec![0, 1], vec![1, 2], vec![2, 3]];
        assert_eq!(drawn(&kind, &rows(5), &rows(5)), Ok(expected));
        assert!(drawn(&kind, &rows(7), &rows(5)).unwrap_err().contains("7 questions"));
    }

    #[test]
    fn a_pool_too_small_is_named() {
        let error = drawn(&RetrieverKind::FixK { ids: vec![0, 5, 9], exclude_question: false }, &rows(1), &rows(5))
            .unwrap_err();
        assert!(error.contains("training row 5, 9") && error.contains("5 rows"), "{error}");
        for kind in [
            RetrieverKind::FirstN { k: 6, exclude_question: false },
            RetrieverKind::Sampled { k: 6, seed: 0, exclude_question: false },
            RetrieverKind::Random { k: 6, seed: 43, exclude_question: false },
            RetrieverKind::Bm25 { k: 6, columns: vec!["q".into()], exclude_question: false },
            RetrieverKind::SlidingWindow { k: 6 },
        ] {
            assert!(drawn(&kind, &Vec::new(), &rows(5)).unwrap_err().contains("6 shots"));
        }
    }
}
