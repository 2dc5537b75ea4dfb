//! Answers to echoes: answers that count, and answers of servers that cannot score.

use super::*;

fn answer(tokens: &[&str], log_probs: &[Option<f64>], prompt: u64) -> Value {
    let top: Vec<Value> =
        log_probs.iter().map(|value| value.map_or(Value::Null, |value| json!({"t": value}))).collect();
    json!({
        "choices": [{"text": "", "logprobs": {"tokens": tokens, "token_logprobs": log_probs, "top_logprobs": top}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 1}
    })
}

#[test]
fn every_token_after_the_first_needs_a_number() {
    let good = answer(&["a", " b", " c", "!"], &[None, Some(-1.0), Some(-2.0), Some(-0.1)], 3);
    let scored = tokens(&good, "a b c").unwrap();
    assert_eq!(scored.iter().map(|token| token.log_prob).collect::<Vec<_>>(), [None, Some(-1.0), Some(-2.0)]);
    // What llama.cpp gives: the generated token alone.
    let generated = answer(&["!"], &[Some(-0.1)], 3);
    assert!(tokens(&generated, "a b c").unwrap_err().contains("of 1 tokens, where the text has 3"));
    for (list, why) in [
        ([None, None, Some(-2.0)], "no log-probability of token 1"),
        ([None, Some(0.5), Some(-2.0)], "0.5 as the log-probability"),
    ] {
        let wrong = answer(&["a", " b", " c"], &list, 3);
        assert!(tokens(&wrong, "a b c").unwrap_err().contains(why));
    }
    let other = answer(&["x", " b", " c"], &[None, Some(-1.0), Some(-2.0)], 3);
    assert_eq!(tokens(&other, "a b c").unwrap_err(), "tokens that do not spell the text");
    assert!(tokens(&json!({"choices": [{"text": "a"}]}), "a").unwrap_err().contains("no `logprobs`"));
}

#[test]
fn a_token_before_the_text_is_none_of_it() {
    let framed = answer(&["<s>", "a", " b"], &[None, Some(-3.0), Some(-1.0)], 3);
    let scored = tokens(&framed, "a b").unwrap();
    let alone = continued(&scored, 0, "a b").unwrap();
    assert_eq!((alone.sum, alone.tokens), (-4.0, 2));
    let after = continued(&scored, 2, "a b").unwrap();
    assert_eq!((after.sum, after.tokens, after.is_greedy), (-1.0, 1, true));
    let bare = tokens(&answer(&["a", " b"], &[None, Some(-1.0)], 2), "a b").unwrap();
    assert!(continued(&bare, 0, "a b").unwrap_err().contains("no context"));
    assert!(continued(&bare, 2, "a b").unwrap_err().contains("belong to the continuation"));
}
