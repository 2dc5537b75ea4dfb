//! Answers of which the first were drawn by an earlier run: the others are asked for as a run of all would.

use super::Served;
use compass_mirrors::openai::{Endpoint, Script};
use compass_plan::{Decoding, EndpointApi, GenSpec};

/// Seeds of the requests after the first `before`.
fn seeds(endpoint: &Endpoint, before: usize) -> Vec<Option<u64>> {
    endpoint.seen().iter().skip(before).map(|seen| seen.seed).collect()
}

#[test]
fn only_what_is_missing_is_asked_for_with_the_seeds_that_it_would_have() {
    for api in [EndpointApi::Chat, EndpointApi::Completions] {
        let endpoint = Endpoint::start(Script::default()).unwrap();
        let mut served = Served::new(&endpoint, api);
        let decoding =
            Decoding { do_sample: Some(true), num_return_sequences: Some(5), seed: Some(3), ..Decoding::default() };
        let spec = GenSpec { max_out_len: Some(16), decoding, ..GenSpec::default() };
        let greeted = endpoint.seen().len();
        let fresh = served.run("what is 4", spec.clone());
        let all = seeds(&endpoint, greeted);
        assert!(all.len() == 5 && all.iter().all(Option::is_some), "{all:?}");
        for drawn in 0..5 {
            let before = endpoint.seen().len();
            let rest = served.run_after("what is 4", spec.clone(), drawn);
            assert_eq!(seeds(&endpoint, before), all[drawn as usize..], "{drawn} are there");
            assert_eq!(rest.after(&fresh.clone().first_answers(drawn as usize, true), true), fresh);
        }
    }
}
