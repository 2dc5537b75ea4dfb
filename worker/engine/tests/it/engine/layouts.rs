//! Engines of models in layouts other than Hugging Face's, with tokenizers.

use crate::engine::support::{gen_spec, plan, prompt_sample, run_all};
use compass_engine::DeviceChoice;
use compass_plan::{BosPolicy, ModelKind};
use compass_types::result::Outcome;
use std::path::Path;

/// Copies a golden model and adds a tokenizer.
fn directory(case: &str, tokenizer: &str, name: &str) -> tempfile::TempDir {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(tests.join("goldens").join(case)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    std::fs::copy(tests.join("tokenizer/goldens").join(tokenizer), folder.path().join(name)).unwrap();
    folder
}

#[test]
fn meta_and_internlm_load_with_their_tokenizers() {
    for (kind, case, tokenizer, name, bos) in [
        (ModelKind::Llama, "meta-llama-2", "bpe.model", "tokenizer.model", "<s>"),
        (ModelKind::Llama, "meta-llama-3", "ranks.model", "tokenizer.model", "<|begin_of_text|>"),
        (ModelKind::InternLm, "internlm-ranks", "bpe.model", "V7.model", "<s>"),
    ] {
        let folder = directory(case, tokenizer, name);
        let mut plan = plan(folder.path(), BosPolicy::Auto, None);
        plan.kind = kind;
        let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
        assert_eq!((engine.facts().bos_token.as_deref(), engine.facts().max_seq_len), (Some(bos), 2048), "{case}");
        // The goldens' vocabularies are smaller than any tokenizer's: the sample fails, and the engine continues.
        let (results, _) = run_all(&mut *engine, &gen_spec(4, &[]), &[prompt_sample(0, "the river")]);
        assert!(matches!(results[0].outcome, Outcome::Failed { .. }), "{case}: {:?}", results[0].outcome);
    }
}
