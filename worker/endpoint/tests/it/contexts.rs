//! Requests that the server's context does not hold: asked again with what is left, and too long only where the prompt is.

use super::Served;
use compass_mirrors::context::{Context, ContextRefusal};
use compass_mirrors::openai::{Endpoint, Script};
use compass_plan::EndpointApi;
use compass_types::result::Outcome;

fn endpoint(refusal: ContextRefusal, is_listed: bool) -> Endpoint {
    let context = Some(Context { tokens: 64, refusal, is_listed });
    Endpoint::start(Script { context, ..Script::default() }).unwrap()
}

/// Lengths that were asked for after the greeting; `None` is the list of models.
fn lengths(endpoint: &Endpoint) -> Vec<Option<u64>> {
    endpoint.seen().iter().skip(1).map(|seen| seen.max_tokens).collect()
}

#[test]
fn an_answer_has_what_the_context_leaves() {
    for refusal in ContextRefusal::ALL {
        for api in [EndpointApi::Chat, EndpointApi::Completions] {
            let endpoint = endpoint(refusal, true);
            let mut served = Served::new(&endpoint, api);
            let result = served.ask("one two three 4", 64, 2);
            let Outcome::Generated(answers) = &result.outcome else { panic!("{refusal:?}: {result:?}") };
            assert!(answers.len() == 2 && answers.iter().all(|answer| answer.text == "the answer is 4"), "{answers:?}");
            // The second answer is asked for at once with what is left.
            let expected = match refusal {
                ContextRefusal::VllmAtLeast => vec![Some(64), Some(1), Some(60), Some(60)],
                ContextRefusal::Sglang => vec![Some(64), Some(60), Some(59), Some(59)],
                ContextRefusal::LlamaCpp => vec![Some(64), Some(64)],
                ContextRefusal::NoNumbers => vec![Some(64), None, Some(1), Some(60), Some(60)],
                _ => vec![Some(64), Some(60), Some(60)],
            };
            assert_eq!(lengths(&endpoint), expected, "{refusal:?}");
            let notes = served.engine.take_notes();
            let is_noted = notes.iter().any(|note| note.contains("asked with what is left"));
            assert_eq!(is_noted, refusal != ContextRefusal::LlamaCpp, "{notes:?}");
            // Another sample has its own length.
            served.ask("4", 63, 1);
            let after = lengths(&endpoint).split_off(expected.len());
            assert_eq!(after.first(), Some(&Some(63)), "{refusal:?}");
            assert!(served.engine.take_notes().is_empty());
        }
    }
}

#[test]
fn only_a_prompt_that_does_not_fit_is_too_long() {
    for refusal in ContextRefusal::ALL {
        let endpoint = endpoint(refusal, true);
        let mut served = Served::new(&endpoint, EndpointApi::Chat);
        let result = served.ask(&"word ".repeat(70), 8, 2);
        let Outcome::Failed { reason } = &result.outcome else { panic!("{refusal:?}: {result:?}") };
        assert!(reason.starts_with("too long: status 400"), "{refusal:?}: {reason}");
        assert!(served.engine.take_notes().is_empty());
        let is_counted = !matches!(refusal, ContextRefusal::VllmAtLeast | ContextRefusal::NoNumbers);
        assert!(!is_counted || lengths(&endpoint) == [Some(8)], "{refusal:?}: {:?}", lengths(&endpoint));
    }
}

/// The list is asked for once, and only where a refusal names no length.
#[test]
fn a_context_of_unknown_length_is_asked_for_once() {
    let unlisted = endpoint(ContextRefusal::NoNumbers, false);
    let mut served = Served::new(&unlisted, EndpointApi::Chat);
    for _ in 0..3 {
        let result = served.ask("one two three 4", 64, 1);
        assert!(matches!(&result.outcome, Outcome::Failed { reason } if reason.starts_with("too long")), "{result:?}");
    }
    assert_eq!(lengths(&unlisted), [Some(64), None, Some(64), Some(64)]);
}
