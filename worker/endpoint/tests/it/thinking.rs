//! Thinking wherever a server puts it, whole and in events, and stop strings that would end it.

use super::Served;
use compass_mirrors::openai::{Endpoint, Script, THOUGHT, Thinking};
use compass_plan::EndpointApi;
use compass_types::result::{Generation, Outcome, ThinkingEnd};

/// The answer to a question with these stop strings, and the number of requests that it took beside the greeting.
fn answered(thinking: Thinking, stream: Option<&str>, stop: &[&str]) -> (Generation, usize) {
    let stream = stream.map(str::to_owned);
    let endpoint = Endpoint::start(Script { thinking: Some(thinking), stream, ..Script::default() }).unwrap();
    let result = Served::new(&endpoint, EndpointApi::Chat).ask_until("What is 4", 8, stop);
    let Outcome::Generated(answers) = &result.outcome else { panic!("{thinking:?}: {result:?}") };
    (answers[0].clone(), endpoint.seen().len() - 1)
}

const PLACES: [Thinking; 3] = [Thinking::Marked, Thinking::Field("reasoning"), Thinking::Field("reasoning_content")];

#[test]
fn thinking_is_told_apart_whole_and_in_events() {
    for thinking in PLACES {
        for stream in [None, Some("data: JSON\n\n")] {
            let (answer, requests) = answered(thinking, stream, &[]);
            let thought = answer.thinking.unwrap();
            assert_eq!((thought.text.as_str(), thought.end), (THOUGHT, ThinkingEnd::Closed), "{thinking:?} {stream:?}");
            assert_eq!((answer.text.as_str(), requests), ("the answer is 4", 1), "{thinking:?} {stream:?}");
        }
    }
}

#[test]
fn a_stop_string_counts_in_the_answer_alone() {
    for thinking in PLACES {
        // The server ends the thinking at it: the sample is asked once more.
        let (answer, requests) = answered(thinking, None, &["\n\n"]);
        assert_eq!((answer.text.as_str(), requests), ("the answer is 4", 2), "{thinking:?}");
        assert_eq!(answer.thinking.unwrap().text, THOUGHT, "{thinking:?}");
        let (answer, _) = answered(thinking, None, &[" is"]);
        assert_eq!(answer.text, "the answer", "{thinking:?}");
    }
}

#[test]
fn thinking_without_an_answer_is_no_empty_answer() {
    for name in ["reasoning", "reasoning_content"] {
        let (answer, _) = answered(Thinking::Alone(name), None, &[]);
        assert_eq!((answer.text.as_str(), answer.is_unfinished()), ("", true), "{name}");
    }
}
