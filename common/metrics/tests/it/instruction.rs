//! IFEval: sentences, words, rules and languages.

use crate::golden::{cases, exactly, text, texts};
use compass_metrics::instruction::*;
use serde_json::{Value, json};

#[test]
fn sentences_and_words() {
    exactly("ifeval_sentences", 250, |args| sentences(text(&args[0])));
    exactly("ifeval_words", 250, |args| word_tokenize(text(&args[0])));
}

fn rule(id: &Value, kwargs: &Value) -> Instruction {
    Instruction::parse(text(id), kwargs.as_object().unwrap()).unwrap()
}

#[test]
fn strict_and_loose() {
    exactly("ifeval", 250, |args| {
        let ids = args[0].as_array().unwrap();
        let rules: Vec<Instruction> =
            ids.iter().zip(args[1].as_array().unwrap()).map(|(id, kwargs)| rule(id, kwargs)).collect();
        let sample = follow(&rules, text(&args[2]));
        json!([sample.strict, sample.loose])
    });
}

#[test]
fn accuracies_add_up() {
    let mut stats = IfevalStats::default();
    let followed = |strict: &[bool], loose: &[bool]| IfevalSample { strict: strict.into(), loose: loose.into() };
    for sample in [followed(&[true, true], &[true, true]), followed(&[false, true], &[true, true])] {
        let mut one = IfevalStats::default();
        one.observe(&sample);
        stats.merge(&one);
    }
    let expected = IfevalStats {
        prompts: 2,
        strict_prompts: 1,
        loose_prompts: 2,
        instructions: 4,
        strict_instructions: 3,
        loose_instructions: 4,
    };
    assert_eq!(stats, expected);
}

/// langdetect draws at random and is unsure of short texts and of capitals: a part of its results, not every one, is ours.
#[test]
fn languages() {
    let mut cases = cases("ifeval_language", 150);
    // Swahili is not told from others here, and its instructions are not checked.
    cases.retain(|(args, _)| args[1]["language"] != "sw");
    let agrees = |args: &[Value], expected: &Value| {
        Some(follow(&[rule(&args[0], &args[1])], text(&args[2])).strict[0]) == expected.as_bool()
    };
    for (args, expected) in cases.iter().filter(|(args, expected)| !agrees(args, expected)) {
        eprintln!("langdetect says {expected}: {args:?}");
    }
    let same = cases.iter().filter(|(args, expected)| agrees(args, expected)).count();
    eprintln!("{same} of {} results on languages are langdetect's", cases.len());
    assert!(same * 100 >= cases.len() * 95, "{same} of {}", cases.len());
}

fn rule_of_language(code: &str) -> Result<Instruction, InstructionError> {
    Instruction::parse("language:response_language", json!({"language": code}).as_object().unwrap())
}

#[test]
fn what_cannot_be_checked() {
    let nothing = serde_json::Map::new();
    let missing = Instruction::parse("length_constraints:number_words", &nothing).unwrap_err();
    assert_eq!(missing.to_string(), r#"instruction "length_constraints:number_words" needs the argument "num_words""#);
    let language = |code: &str| rule_of_language(code).map_err(|error| error.to_string());
    for code in ["sw", "so", "sq"] {
        let why = format!(
            "no detector here tells the language \"{code}\" from others: whether the answer is in it stays undecided"
        );
        assert_eq!(language(code), Err(why));
    }
    assert!(language("de").is_ok() && language("zh-tw").is_ok());
    assert!(texts(&json!(["keywords:key_sentences", ""])).iter().all(|id| Instruction::parse(id, &nothing).is_err()));
}
