//! SentencePiece models compared with the SentencePiece library: every id and every decoded byte.

use crate::tokenizer::support::{FNV, fnv, golden, golden_json, ids, shared};
use compass_engine::tokenizer::{PieceKind, SentencePiece};
use std::path::Path;

fn model(path: &Path) -> SentencePiece {
    SentencePiece::from_bytes(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn ids_and_texts_equal_the_librarys() {
    let document = golden_json("sentencepiece.json");
    let mut compared = 0;
    for (name, cases) in document["models"].as_object().unwrap() {
        let model = model(&golden(&format!("{name}.model")));
        for case in cases.as_array().unwrap() {
            let expected = ids(&case["ids"]);
            if let Some(text) = case["text"].as_str() {
                assert_eq!(model.encode(text), expected, "{name}: {text:?}");
            }
            assert_eq!(model.decode(&expected).unwrap(), case["decoded"].as_str().unwrap(), "{name}: {expected:?}");
            compared += 1;
        }
    }
    assert!(compared >= 5 * 30, "{compared}");
}

#[test]
fn real_models_on_real_texts() {
    let document = golden_json("sentencepiece.json");
    let own = document["models"]["bpe"].as_array().unwrap().iter().filter_map(|case| case["text"].as_str());
    let own: Vec<&str> = own.collect();
    for entry in document["shared"].as_array().unwrap() {
        let of = |key: &str| entry[key].as_str().unwrap();
        let (Some(path), Some(file)) = (shared(of("model")), shared(of("file"))) else { continue };
        let model = model(&path);
        let text = std::fs::read_to_string(file).unwrap();
        let mut state = FNV;
        for line in text.split('\n').take(entry["lines"].as_u64().unwrap() as usize).chain(own.iter().copied()) {
            let ids = model.encode(line);
            let decoded = model.decode(&ids).unwrap();
            state = ids.into_iter().chain([u32::MAX]).fold(state, fnv);
            state = decoded.chars().map(u32::from).chain([u32::MAX - 1]).fold(state, fnv);
        }
        assert_eq!(format!("{state:016x}"), of("fnv"), "{} on {}", of("model"), of("file"));
    }
}

#[test]
fn pieces_have_kinds_and_names() {
    let model = model(&golden("bpe_symbols.model"));
    let kind = |text: &str| model.id_of(text).and_then(|id| model.piece(id)).map(|(_, kind)| kind);
    assert_eq!(kind("<unk>"), Some(PieceKind::Unknown));
    assert_eq!(kind("<|im_start|>"), Some(PieceKind::Control));
    assert_eq!(kind("<sep>"), Some(PieceKind::UserDefined));
    assert_eq!(kind("<0x0A>"), Some(PieceKind::Byte));
    assert_eq!((model.bos(), model.eos(), model.unknown()), (Some("<s>"), Some("</s>"), 0));
    assert!(!model.adds_dummy_prefix() && model.len() == 480 && !model.is_empty());
}

#[test]
fn files_other_than_models_are_rejected() {
    let bytes = std::fs::read(golden("bpe.model")).unwrap();
    for (damaged, says) in [(&bytes[..bytes.len() / 2], ""), (b"{\"version\": 1}".as_slice(), ""), (b"", "unknown")] {
        let message = SentencePiece::from_bytes(damaged).unwrap_err();
        assert!(message.contains(says) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn text_of_a_million_characters() {
    let text = "Once upon a time, 很久以前 there was 🙂. ".repeat(1_000_000 / 36);
    for name in ["bpe", "unigram"] {
        let model = model(&golden(&format!("{name}.model")));
        let ids = model.encode(&text);
        assert!(ids.len() > 100_000, "{name}: {}", ids.len());
        let once = model.encode("Once upon a time, 很久以前 there was 🙂. Once upon");
        assert_eq!(ids[..once.len() - 3], once[..once.len() - 3], "{name}");
    }
}
