//! Several ways to rows, tried in order.

use compass_settings::{EvaluatedConfiguration, LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader};
use std::sync::Arc;

/// Loaders in the order in which they are asked: each gets only the calls that those before it refused.
#[derive(Debug)]
pub struct LoaderChain(pub Vec<Arc<dyn RowLoader>>);

impl RowLoader for LoaderChain {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let mut results: Vec<Result<LoadedRows, NoRows>> = calls.iter().map(|_| Err(NoRows::default())).collect();
        for loader in &self.0 {
            let left: Vec<usize> = (0..calls.len()).filter(|at| results[*at].is_err()).collect();
            if left.is_empty() {
                break;
            }
            let asked: Vec<LoaderCall> = left.iter().map(|at| calls[*at].clone()).collect();
            for (at, result) in left.into_iter().zip(loader.load(world, &asked)) {
                // A loader that does not apply gives no reason: the former one's stays.
                if !matches!(&result, Err(none) if none.reason.is_empty()) {
                    results[at] = result;
                }
            }
        }
        results
    }

    fn configuration(&self, world: &LoaderWorld) -> Option<Result<EvaluatedConfiguration, NoRows>> {
        self.0.iter().find_map(|loader| loader.configuration(world))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves classes that begin with its word, and refuses others with its reason.
    #[derive(Debug)]
    struct Word(&'static str, &'static str);

    impl RowLoader for Word {
        fn load(&self, _: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
            let one = |call: &LoaderCall| match call.class.starts_with(self.0) {
                true => Ok(LoadedRows { splits: Vec::new(), said: self.0.to_owned() }),
                false => Err(NoRows { reason: self.1.to_owned(), help: None }),
            };
            calls.iter().map(one).collect()
        }
    }

    #[test]
    fn each_is_asked_for_what_the_former_refused() {
        let chain =
            LoaderChain(vec![Arc::new(Word("a", "not a")), Arc::new(Word("b", "")), Arc::new(Word("ab", "last"))]);
        let call = |class: &str| LoaderCall {
            class: class.to_owned(),
            parameters: serde_json::Map::new(),
            splits: Vec::new(),
        };
        let said = |chain: &LoaderChain, classes: &[&str]| -> Vec<String> {
            let calls: Vec<LoaderCall> = classes.iter().map(|class| call(class)).collect();
            let results = chain.load(&LoaderWorld::default(), &calls);
            results.into_iter().map(|result| result.map_or_else(|none| none.reason, |rows| rows.said)).collect()
        };
        assert_eq!(said(&chain, &["bx", "ax", "ab", "c"]), ["b", "a", "a", "last"]);
        let quiet = LoaderChain(vec![Arc::new(Word("a", "not a")), Arc::new(Word("b", ""))]);
        assert_eq!(said(&quiet, &["c"]), ["not a"]);
        assert_eq!(said(&LoaderChain(Vec::new()), &["c"]), [""]);
    }
}
