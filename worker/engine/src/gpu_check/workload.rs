//! Prompts of numbered words: as long as asked, the same for the same seed.

use compass_plan::prompt::{Prompt, Segment};
use compass_plan::{Body, Decoding, GenSpec, InferSpec, OptionPrompt, Sample};
use serde_json::Value;
use std::fmt::Write as _;

/// Words below this number occur in every vocabulary.
const WORDS: u64 = 512;

/// Returns `count` words, the same for the same seed. Each ends with a space.
pub(super) fn words(seed: u64, count: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::with_capacity(count * 5);
    for _ in 0..count {
        // xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Writing to a string cannot fail.
        let _ = write!(text, "w{} ", (state >> 33) % WORDS);
    }
    text
}

fn sample(index: usize, body: Body) -> Sample {
    Sample { index: index as u32, gold: Value::Null, shots: Vec::new(), body }
}

/// A header of all samples, if there is one, and the sample's own words.
fn prompt(header: &str, own: String) -> Prompt {
    let header = (!header.is_empty()).then(|| Segment::Header(header.to_owned()));
    Prompt(header.into_iter().chain([Segment::Question(own)]).collect())
}

/// Samples to continue, each with `own` words of its own after the header.
pub(super) fn to_continue(header: &str, count: usize, own: usize, seed: u64) -> Vec<Sample> {
    let one = |index| sample(index, Body::Gen { prompt: prompt(header, words(seed + index as u64, own)) });
    (0..count).map(one).collect()
}

/// Samples to score, of a text for each option, which ends in `last` words of the option's own.
pub(super) fn to_score(header: &str, count: usize, own: usize, options: usize, last: usize, seed: u64) -> Vec<Sample> {
    let one = |index: usize| {
        let question = words(seed + index as u64, own);
        let option = |at: usize| {
            let mut prompt = prompt(header, question.clone());
            if last > 0 {
                prompt.0.push(Segment::Option(words(seed ^ (((index * options + at + 1) as u64) << 20), last)));
            }
            OptionPrompt { label: at.into(), prompt, answer: None }
        };
        sample(index, Body::Ppl { options: (0..options).map(option).collect() })
    };
    (0..count).map(one).collect()
}

/// Exactly `tokens` tokens for each sample; drawn with a seed, or the most probable.
pub(super) fn generation(tokens: u32, is_drawn: bool) -> InferSpec {
    let drawn = Decoding {
        do_sample: Some(true),
        temperature: Some(0.8),
        top_p: Some(0.95),
        seed: Some(7),
        ..Decoding::default()
    };
    InferSpec::Gen(GenSpec {
        max_out_len: Some(tokens),
        min_out_len: Some(tokens),
        stop: Vec::new(),
        decoding: if is_drawn { drawn } else { Decoding::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_many_as_asked_and_the_same_again() {
        assert_eq!(words(3, 17).split_whitespace().count(), 17);
        assert_eq!(words(3, 17), words(3, 17));
        assert_ne!(words(3, 17), words(4, 17));
        assert!(words(9, 500).split_whitespace().all(|word| word[1..].parse::<u64>().unwrap() < WORDS));
    }

    #[test]
    fn options_of_a_sample_share_its_question() {
        let samples = to_score("h ", 2, 5, 2, 3, 1);
        let Body::Ppl { options } = &samples[1].body else { panic!() };
        assert_eq!(options[0].prompt.0[..2], options[1].prompt.0[..2]);
        assert_ne!(options[0].prompt.0[2], options[1].prompt.0[2]);
    }
}
