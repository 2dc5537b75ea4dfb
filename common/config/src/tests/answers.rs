//! `pred_postprocessor = { type = "answer", .. }`: what it reads, and mistakes with their places.

use super::fixture::{DATASET, Fixture, MODEL, Messages};
use compass_postprocess::{AnswerKind, Postprocessor};

fn with(postprocessor: &str) -> String {
    let evaluation = format!("evaluator = \"acc\", pred_postprocessor = {postprocessor}");
    format!("{MODEL}{}", DATASET.replace("evaluator = \"em\"", &evaluation))
}

#[test]
fn kinds_of_answers_are_read() {
    let read = |written: &str| {
        let config = Fixture::new().good(&with(written));
        config.datasets[0].eval.pred_postprocessors[0].clone()
    };
    let choice = read("{ type = \"answer\", kind = \"choice\", options = \"ABCDEFGHIJ\" }");
    assert_eq!(choice.apply("答案：Ｂ").unwrap(), "B");
    assert_eq!(choice.apply("A good idea.").unwrap(), "");
    for (word, kind) in [("number", AnswerKind::Number), ("math", AnswerKind::Math), ("text", AnswerKind::Text)] {
        assert_eq!(read(&format!("{{ type = \"answer\", kind = \"{word}\" }}")), Postprocessor::Answer(kind));
    }
}

#[test]
fn mistakes_are_told_at_their_places() {
    let mut messages = Messages::default();
    for written in [
        "\"answer\"",
        "{ type = \"answer\", kind = \"numbr\" }",
        "{ type = \"answer\", kind = 3 }",
        "{ type = \"answer\", kind = \"choice\" }",
        "{ type = \"answer\", kind = \"choice\", options = \"ABCA\" }",
        "{ type = \"answer\", kind = \"choice\", options = \"A-D\" }",
        "{ type = \"answer\", kind = \"math\", options = \"AB\" }",
        "{ type = \"answer\", kind = \"number\", option = \"AB\" }",
    ] {
        messages.add(written, &Fixture::new().bad(&with(written)));
    }
    insta::assert_snapshot!(messages);
}
