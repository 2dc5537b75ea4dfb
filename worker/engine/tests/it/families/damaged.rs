//! Weights truncated or with wrong bytes anywhere: they load, or one line says what is wrong. Never a crash.

use crate::families::support::{golden, message_of};
use proptest::prelude::*;

/// Files of every format, and their case.
const FILES: [(&str, &str); 6] = [
    ("llama", "model.safetensors"),
    ("pickle-llama", "pytorch_model.bin"),
    ("pickle-old-gpt2", "pytorch_model.bin"),
    ("meta-llama-2", "consolidated.01.pth"),
    ("internlm-ranks", "model_tp1_pp1.pt"),
    ("internlm-ranks", "model_config.pt"),
];

/// Positions in headers, pickles and directories, far more often than in between.
fn place(length: usize) -> impl Strategy<Value = usize> {
    let last = length - 1;
    prop_oneof![3 => 0..length.min(3000), 3 => length.saturating_sub(3000)..length, 1 => 0..length]
        .prop_map(move |at| at.min(last))
}

fn file() -> impl Strategy<Value = (&'static str, &'static str, usize)> {
    proptest::sample::select(FILES.as_slice()).prop_map(|(case, name)| {
        let length = std::fs::metadata(golden(case).join(name)).unwrap().len() as usize;
        (case, name, length)
    })
}

/// The key of a storage that becomes a line break is shown escaped.
#[test]
fn line_break_in_a_name() {
    let message = message_of("internlm-ranks", "model_tp1_pp1.pt", |mut bytes| {
        bytes[581] = b'\n';
        bytes
    });
    let message = message.unwrap_err();
    assert!(message.contains(r"its storage \n is missing"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrong_bytes((case, name, flips) in file().prop_flat_map(|(case, name, length)| {
        (Just(case), Just(name), proptest::collection::vec((place(length), any::<u8>()), 1..6))
    })) {
        let _ = message_of(case, name, |mut bytes| {
            flips.into_iter().for_each(|(at, value)| bytes[at] = value);
            bytes
        });
    }

    #[test]
    fn cut_short((case, name, keep) in file().prop_flat_map(|(case, name, length)| {
        (Just(case), Just(name), place(length))
    })) {
        let message = message_of(case, name, |bytes| bytes[..keep].to_vec());
        prop_assert!(message.is_err(), "{case}/{name} of {keep} bytes loads");
    }

    #[test]
    fn bytes_left_out_or_put_in((case, name, at, count, put) in file().prop_flat_map(|(case, name, length)| {
        (Just(case), Just(name), place(length), 0usize..40, proptest::collection::vec(any::<u8>(), 0..40))
    })) {
        let _ = message_of(case, name, |mut bytes| {
            let end = (at + count).min(bytes.len());
            bytes.splice(at..end, put);
            bytes
        });
    }
}
