//! Draws of requests that come together, on the demo's model.

use super::super::protocol::{Wish, text_question};
use super::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::mpsc::channel;

/// Asks for 24 tokens after a prompt.
fn wish(prompt: &str, seed: u64) -> Wish {
    text_question(&json!({"prompt": prompt, "max_tokens": 24, "temperature": 1.2, "seed": seed, "n": 2}), 64).unwrap()
}

/// Answers to prompts that are all there before the first is answered; `None` for a client that had left.
fn answers(asked: &[(&str, u64)], left: Option<usize>) -> Vec<Option<Vec<String>>> {
    let options = ServeOptions {
        model: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/demo/model")),
        name: "demo".into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        device: "cpu".into(),
        threads: 1,
        chat: false,
        max_seq_len: Some(64),
        key_file: None,
    };
    let (questions, receiver) = channel();
    let mut waiting = Vec::new();
    for (at, (prompt, seed)) in asked.iter().enumerate() {
        let (reply, answer) = oneshot::channel();
        let Wish { body, infer, seed, .. } = wish(prompt, *seed);
        let caller = Arc::new(Caller::new(seed, serde_json::Map::new()));
        if left == Some(at) {
            caller.leave();
        }
        questions.send(Question::Continue(ToContinue { body, infer, caller, reply })).unwrap();
        waiting.push(answer);
    }
    drop(questions);
    Computer::load(&options).unwrap().serve(&receiver);
    let texts = |(_, generations): (u32, Vec<Generation>)| generations.into_iter().map(|one| one.text).collect();
    waiting.into_iter().map(|answer| answer.blocking_recv().ok().map(|continued| texts(continued.unwrap()))).collect()
}

#[test]
fn draws_of_a_request_follow_from_the_request_alone() {
    let asked = [("12 + 30 =", 5), ("7 + 2 =", 5), ("12 + 30 =", 5), ("12 + 30 =", 6), ("1 + 1 =", 7)];
    let together = answers(&asked, None);
    for (one, together) in asked.iter().zip(&together) {
        assert_eq!(answers(&[*one], None), std::slice::from_ref(together), "{one:?}");
    }
    assert_ne!(together[0], together[3]);
}

#[test]
fn the_work_of_a_client_that_left_is_dropped() {
    let asked = [("12 + 30 =", 5), ("7 + 2 =", 5), ("1 + 1 =", 7)];
    let all = answers(&asked, None);
    for left in 0..3 {
        let mut expected = all.clone();
        expected[left] = None;
        assert_eq!(answers(&asked, Some(left)), expected);
    }
}
