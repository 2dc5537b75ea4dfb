//! Directories without tokenizer.json compared with transformers' `AutoTokenizer`: ids with and without special tokens,
//! texts.

use crate::tokenizer::support::{FNV, fnv, golden, golden_json, ids, shared};
use compass_engine::tokenizer::TextTokenizer;
use compass_plan::BosPolicy;
use serde_json::Value;
use std::path::Path;

/// Writes the files of a golden directory.
fn write(document: &Value, entry: &Value, place: &Path) {
    for (name, config) in entry["configs"].as_object().unwrap() {
        std::fs::write(place.join(name), config.to_string()).unwrap();
    }
    match entry["model"].as_str() {
        Some(model) => {
            std::fs::copy(golden(model), place.join("tokenizer.model")).unwrap();
        }
        None => {
            for (name, text) in document["texts"]["byte_level"].as_object().unwrap() {
                std::fs::write(place.join(name), text.as_str().unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn ids_texts_and_special_tokens_equal() {
    let document = golden_json("transformers.json");
    let inputs: Vec<&str> = document["inputs"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let mut differences = Vec::new();
    let mut compared = 0;
    for (name, entry) in document["directories"].as_object().unwrap() {
        let directory = tempfile::tempdir().unwrap();
        write(&document, entry, directory.path());
        let tokenizer = TextTokenizer::read(directory.path(), BosPolicy::Auto, None).unwrap();
        assert_eq!(Value::from(tokenizer.special_tokens_map()), entry["special"], "{name}");
        for (text, case) in inputs.iter().zip(entry["cases"].as_array().unwrap()) {
            let expected = (ids(&case["ids"]), ids(&case["plain"]), case["decoded"].as_str().unwrap().to_owned());
            let decoded = tokenizer.decode(&expected.0).unwrap();
            let got = (tokenizer.encode(text).unwrap(), tokenizer.encode_plain(text).unwrap(), decoded);
            if got != expected {
                differences.push(format!("{name}: {text:?}\n  expected {expected:?}\n  got      {got:?}"));
            }
            compared += 1;
        }
    }
    assert!(differences.is_empty(), "{} of {compared} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(compared >= 10 * 30, "{compared}");
}

#[test]
fn gpt2_on_real_texts() {
    let document = golden_json("transformers.json");
    let Some(directory) = shared("tokenizers/gpt2") else { return };
    let tokenizer = TextTokenizer::read(&directory, BosPolicy::Auto, None).unwrap();
    let own: Vec<&str> = document["inputs"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for entry in document["shared"].as_array().unwrap() {
        let Some(file) = shared(entry["file"].as_str().unwrap()) else { continue };
        let text = std::fs::read_to_string(file).unwrap();
        let mut state = FNV;
        for line in text.split('\n').take(entry["lines"].as_u64().unwrap() as usize).chain(own.iter().copied()) {
            state = tokenizer.encode(line).unwrap().into_iter().chain([u32::MAX]).fold(state, fnv);
        }
        assert_eq!(format!("{state:016x}"), entry["fnv"].as_str().unwrap(), "{entry}");
    }
}

#[test]
fn tokenizer_json_takes_precedence_and_names_may_be_guessed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let read = || TextTokenizer::read(place, BosPolicy::Auto, None);
    let message = read().err().unwrap().to_string();
    for name in ["tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_path"] {
        assert!(message.contains(name), "{message}");
    }
    // Without any configuration: Llama's defaults, as for its own files.
    std::fs::copy(golden("bpe.model"), place.join("tok480.model")).unwrap();
    let spm = read().unwrap();
    let document = golden_json("transformers.json");
    let llama = &document["directories"]["llama"]["cases"][7];
    let text = document["inputs"][7].as_str().unwrap();
    assert_eq!(spm.encode(text).unwrap(), ids(&llama["ids"]));
    assert_eq!(
        (spm.bos_text().as_deref(), spm.eos_text(None).as_deref(), spm.pad_id(None)),
        (Some("<s>"), Some("</s>"), Some(2))
    );
    let json = serde_json::json!({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "all": 1}, "unk_token": "<unk>"}});
    std::fs::write(place.join("tokenizer.json"), json.to_string()).unwrap();
    assert_eq!(read().unwrap().encode("all").unwrap(), [1]);
    std::fs::write(place.join("tokenizer_config.json"), r#"{"tokenizer_class": "LlamaTokenizer"}"#).unwrap();
    assert_eq!(read().unwrap().encode("all").unwrap(), [2, 1], "the class frames texts, whatever the file says");
}

#[test]
fn errors_name_damaged_files() {
    let directory = tempfile::tempdir().unwrap();
    let fault = || TextTokenizer::read(directory.path(), BosPolicy::Auto, None).err().unwrap().to_string();
    std::fs::write(directory.path().join("tokenizer.model"), "version https://git-lfs.github.com/spec/v1").unwrap();
    assert!(fault().contains("tokenizer.model"), "{}", fault());
    std::fs::remove_file(directory.path().join("tokenizer.model")).unwrap();
    std::fs::write(directory.path().join("merges.txt"), "#version\na b\n").unwrap();
    std::fs::write(directory.path().join("vocab.json"), "{\"a\": 0, \"b\": -1}").unwrap();
    assert!(fault().contains("vocab.json") && fault().contains("-1"), "{}", fault());
    std::fs::write(directory.path().join("vocab.json"), "{\"a\": 0, \"b\": 1}").unwrap();
    assert!(fault().contains("vocab.json"), "a merge of unknown tokens: {}", fault());
}

/// As `AutoTokenizer` of transformers 4.57.6 and 5.24.0.
#[test]
fn special_tokens_of_a_prompt_are_split_where_the_files_ask_for_it() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model");
    let ids = |config: &str| {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(model.join("tokenizer.json"), directory.path().join("tokenizer.json")).unwrap();
        std::fs::write(directory.path().join("tokenizer_config.json"), config).unwrap();
        TextTokenizer::read(directory.path(), BosPolicy::Auto, None).unwrap().encode("a</s>b").unwrap()
    };
    assert_eq!(ids(r#"{"bos_token": "<s>", "eos_token": "</s>"}"#), [0, 66, 1, 67]);
    let split = r#"{"bos_token": "<s>", "eos_token": "</s>", "split_special_tokens": true}"#;
    assert_eq!(ids(split), [0, 66, 29, 16, 84, 31, 67]);
}
