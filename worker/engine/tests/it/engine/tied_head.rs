//! A head that the configuration ties to the embeddings and the files have otherwise.

use crate::engine::support::{TinyModel, gen_spec, generated, ppl_sample, prompt_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::{InferSpec, ModelPlan, NumericProfile};
use compass_types::result::Outcome;
use safetensors::tensor::{Dtype, TensorView};

const EMBEDDINGS: &str = "model.embed_tokens.weight";
const HEAD: &str = "lm_head.weight";

/// Results of a model, its notes, and its remarks.
fn given(model: &TinyModel, profile: NumericProfile) -> (Outcome, String, Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    model.write(directory.path());
    let plan = ModelPlan { profile, ..tiny_plan(directory.path()) };
    let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    let scored = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &["ab", "ba"])]).0;
    let answered = run_all(engine.as_mut(), &gen_spec(8, &[]), &[prompt_sample(0, "ab")]).0;
    let facts = engine.facts();
    (scored[0].outcome.clone(), generated(&answered[0]).text.clone(), facts.notes.clone(), facts.remarks.clone())
}

#[test]
fn the_head_of_the_files_counts_unless_it_is_a_copy() {
    let untied = TinyModel::default();
    let mut tied = TinyModel::default();
    tied.config["tie_word_embeddings"] = true.into();
    let mut copied = TinyModel::default();
    copied.config["tie_word_embeddings"] = true.into();
    copied.tensors.insert(HEAD.to_owned(), copied.tensors[EMBEDDINGS].clone());
    let mut alone = TinyModel::default();
    alone.config["tie_word_embeddings"] = true.into();
    alone.tensors.remove(HEAD);

    let (scores, text, ..) = given(&untied, NumericProfile::Canonical);
    let (embedded, embedded_text, _, silent) = given(&alone, NumericProfile::Canonical);
    assert!(scores != embedded && text != embedded_text && silent.is_empty(), "{silent:?}");
    let (found, found_text, _, remarks) = given(&tied, NumericProfile::Canonical);
    assert_eq!((found, found_text), (scores, text));
    let used = "lm_head.weight differs from the embeddings although tie_word_embeddings is true, and is used, as by transformers 5 and vLLM; \
                transformers 4.57 uses the embeddings";
    assert_eq!(remarks, [used]);
    let (found, found_text, _, silent) = given(&copied, NumericProfile::Canonical);
    assert_eq!((found, found_text), (embedded, embedded_text.clone()));
    assert!(silent.is_empty(), "{silent:?}");
    // The peers' profiles give the numbers of transformers 4.57.
    for profile in [NumericProfile::Opencompass, NumericProfile::LmEvalHf] {
        let (found, found_text, _, remarks) = given(&tied, profile);
        let (old, ..) = given(&alone, profile);
        assert_eq!((found, &found_text), (old, &embedded_text));
        assert!(remarks.len() == 1 && remarks[0].contains("and is not used, as by transformers 4.57;"), "{remarks:?}");
    }
}

#[test]
fn an_adapter_of_tied_embeddings_changes_the_head_with_a_note() {
    let note = "the adapter changes model.embed_tokens.weight, and so the head that is tied to it";
    for (tied, notes) in [(true, 1), (false, 0)] {
        let (directory, adapter) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut model = TinyModel::default();
        if tied {
            model.config["tie_word_embeddings"] = true.into();
            model.tensors.remove(HEAD);
        }
        model.write(directory.path());
        let (vocabulary, hidden) = (model.tensors[EMBEDDINGS].0[0], model.tensors[EMBEDDINGS].0[1]);
        let bytes = |count: usize| (0..count).flat_map(|at| (at as f32 * 0.01).to_le_bytes()).collect::<Vec<u8>>();
        let (a, b) = (bytes(vocabulary), bytes(hidden));
        let views = [("A", vec![1, vocabulary], &a), ("B", vec![hidden, 1], &b)].map(|(part, shape, bytes)| {
            let name = format!("base_model.model.model.embed_tokens.lora_embedding_{part}");
            (name, TensorView::new(Dtype::F32, shape, bytes).unwrap())
        });
        safetensors::serialize_to_file(views, None, &adapter.path().join("adapter_model.safetensors")).unwrap();
        std::fs::write(adapter.path().join("adapter_config.json"), r#"{"peft_type": "LORA", "lora_alpha": 1}"#)
            .unwrap();
        let peft_path = Some(adapter.path().display().to_string());
        let plan = ModelPlan { peft_path, ..tiny_plan(directory.path()) };
        let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
        let said = &engine.facts().notes;
        assert_eq!(said.iter().filter(|said| said.starts_with(note)).count(), notes, "{tied}: {said:?}");
    }
}
