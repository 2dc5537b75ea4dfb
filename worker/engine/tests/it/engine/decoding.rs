//! Texts of answers: what a tokenizer drops or removes when it decodes, and where that stays. Needs no data.

use crate::engine::support::{TinyModel, gen_spec, generated, prompt_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::{BatchSpec, Engine, Request};
use compass_plan::prompt::ShotFormat;
use compass_plan::{ModelPlan, NumericProfile};
use compass_types::result::Finish;
use serde_json::{Value, json};

const PEERS: [NumericProfile; 2] = [NumericProfile::Opencompass, NumericProfile::LmEvalHf];

/// Decoders of SentencePiece vocabularies in tokenizer.json: the converter's for Llama, and that of newer files.
fn decoders() -> [Value; 2] {
    let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let sequence = [replace, json!({"type": "ByteFallback"}), json!({"type": "Fuse"}), strip];
    [
        json!({"type": "Sequence", "decoders": sequence}),
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}),
    ]
}

/// A model that answers with `word` behind a space, again and again: all logits are 0, and the lowest id is that token's.
fn model(word: char, decoder: &Value) -> TinyModel {
    let mut model = TinyModel::default();
    model.tensors.get_mut("model.norm.weight").unwrap().1.fill(0.0);
    let tokenizer = &mut model.tokenizer;
    let vocab = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    for (old, new) in [("<unk>", format!("▁{word}")), (" ", "▁".to_owned()), ("~", "<unk>".to_owned())] {
        let id = vocab.remove(old).unwrap();
        vocab.insert(new, id);
    }
    tokenizer["model"]["merges"] = json!([format!("▁ {word}")]);
    tokenizer["added_tokens"].as_array_mut().unwrap().remove(0);
    tokenizer["pre_tokenizer"] =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false});
    tokenizer["decoder"] = decoder.clone();
    model.tokenizer_config["chat_template"] = json!("{{ messages[0].content }}");
    model
}

fn engine(model: &TinyModel, profile: NumericProfile, chat: bool) -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    model.write(directory.path());
    let plan = ModelPlan { profile, chat, ..tiny_plan(directory.path()) };
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn answer(engine: &mut dyn Engine, prompt: &str, stop: &[&str]) -> (String, u32, Finish) {
    let (results, _) = run_all(engine, &gen_spec(3, stop), &[prompt_sample(0, prompt)]);
    let answer = generated(&results[0]);
    (answer.text.clone(), answer.tokens, answer.finish)
}

#[test]
fn the_first_space_of_a_continuation_stays() {
    for decoder in decoders() {
        let model = model('a', &decoder);
        let mut canonical = engine(&model, NumericProfile::Canonical, false);
        for prompt in ["a", "a a", "a ", "."] {
            assert_eq!(
                answer(canonical.as_mut(), prompt, &[]),
                (" a a a".into(), 3, Finish::Length),
                "{prompt:?} {decoder}"
            );
        }
        // Behind BOS alone the space is the tokenizer's own.
        assert_eq!(answer(canonical.as_mut(), "", &[]).0, "a a a", "{decoder}");
        // Stop strings see the space, and nothing of the prompt.
        assert_eq!(answer(canonical.as_mut(), "a", &[" a"]), (String::new(), 1, Finish::Stop), "{decoder}");
        assert_eq!(answer(canonical.as_mut(), "a", &["a a a a"]), (" a a a".into(), 3, Finish::Length), "{decoder}");
        let mut chat = engine(&model, NumericProfile::Canonical, true);
        assert_eq!(answer(chat.as_mut(), "a", &[]).0, "a a a", "an answer in a chat continues no text: {decoder}");
        for profile in PEERS {
            let mut peer = engine(&model, profile, false);
            assert_eq!(answer(peer.as_mut(), "a", &[]).0, "a a a", "as the peers: {decoder}");
        }
    }
    // A decoder that drops nothing.
    let plain = model('a', &json!({"type": "Sequence", "decoders": [decoders()[0]["decoders"][0], {"type": "Fuse"}]}));
    for profile in [PEERS[0], PEERS[1], NumericProfile::Canonical] {
        assert_eq!(answer(engine(&plain, profile, false).as_mut(), "a", &[]).0, " a a a");
    }
}

#[test]
fn programs_keep_the_spaces_that_other_texts_lose() {
    let mut model = model('.', &decoders()[0]);
    model.tokenizer_config["clean_up_tokenization_spaces"] = json!(true);
    let said = |profile: NumericProfile, takes_programs: bool| {
        let mut engine = engine(&model, profile, false);
        let spec = BatchSpec {
            infer: gen_spec(3, &[]),
            shot_format: ShotFormat::default(),
            meta_template: None,
            takes_programs,
        };
        let sample = prompt_sample(0, "4");
        let mut results = Vec::new();
        engine.run(&spec, &[Request::new(&sample, Vec::new())], &mut |result| results.push(result)).unwrap();
        let notes = engine.take_notes().join("\n");
        (generated(&results[0]).text.clone(), notes)
    };
    let (program, note) = said(NumericProfile::Canonical, true);
    assert_eq!(program, " . . .");
    assert!(note.contains("programs keep the spaces"), "{note}");
    let (text, note) = said(NumericProfile::Canonical, false);
    assert_eq!((text.as_str(), note.as_str()), ("...", ""), "as transformers 4.57");
    for profile in PEERS {
        let (program, note) = said(profile, true);
        assert!(note.contains("removes spaces from programs, too, as the peers do"), "{note}");
        assert_eq!((program, said(profile, false)), ("...".to_owned(), ("...".to_owned(), String::new())));
    }
    model.tokenizer_config["clean_up_tokenization_spaces"] = json!(false);
    let mut engine = engine(&model, NumericProfile::Canonical, false);
    assert_eq!(answer(engine.as_mut(), "4", &[]).0, " . . .");
}
