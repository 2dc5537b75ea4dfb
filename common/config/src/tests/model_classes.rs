//! OpenCompass's classes of models, in TOML and in Python: what they and their engines' settings come to.

use super::fixture::{DATASET, Fixture};
use crate::{Diagnostics, load};
use compass_plan::{DropMiddle, Dtype, ModelKind, Truncation};
use compass_settings::{Config, ModelConfig};

fn toml(keys: &str) -> String {
    format!("[[model]]\nabbr = \"m\"\npath = \"models/tiny\"\n{keys}\n{DATASET}")
}

fn model(keys: &str) -> ModelConfig {
    Fixture::new().good(&toml(keys)).models.remove(0)
}

/// The messages of what is wrong, or of the notes.
fn said(keys: &str) -> String {
    let fixture = Fixture::new();
    match fixture.load(&toml(keys)) {
        Ok(loaded) => loaded.notes.iter().map(|note| note.message.clone()).collect::<Vec<_>>().join("\n"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn a_class_is_a_type() {
    for (class, kind, chat, sums) in [
        ("HuggingFaceBaseModel", ModelKind::Hf, false, false),
        ("HuggingFaceCausalLM", ModelKind::Hf, false, true),
        ("opencompass.models.HuggingFacewithChatTemplate", ModelKind::Hf, true, false),
        ("VLLM", ModelKind::Hf, false, false),
        ("VLLMwithChatTemplate", ModelKind::Hf, true, false),
        ("TurboMindModel", ModelKind::Hf, false, true),
        ("TurboMindModelwithChatTemplate", ModelKind::Hf, true, false),
    ] {
        let model = model(&format!("type = \"{class}\""));
        assert_eq!((model.kind, model.chat, model.sums_loglikelihood), (kind, chat, sums), "{class}");
    }
    assert!(!model("type = \"HuggingFaceCausalLM\"\nsum_loglikelihood = false").sums_loglikelihood);
}

#[test]
fn what_lmdeploy_is_told() {
    let turbo = model(
        "type = \"TurboMindModelwithChatTemplate\"
engine_config = { session_len = 7168, max_batch_size = 16, tp = 4 }
gen_config = { top_k = 1, temperature = 1e-6, top_p = 0.9, max_new_tokens = 1024 }
run_cfg = { num_gpus = 1 }",
    );
    assert_eq!((turbo.max_seq_len, turbo.num_gpus, turbo.max_out_len, turbo.min_out_len), (Some(7168), 4, 1024, 1));
    let decoding = &turbo.decoding;
    assert_eq!((decoding.do_sample, decoding.temperature, decoding.repetition_penalty), (None, None, Some(1.0)));
    let drawn = model("type = \"TurboMindModelwithChatTemplate\"\ngen_config = { do_sample = true, top_p = 0.8 }");
    let decoding = &drawn.decoding;
    assert_eq!((decoding.do_sample, decoding.temperature), (Some(true), Some(0.8)));
    assert_eq!((decoding.top_k, decoding.top_p), (Some(50), Some(0.8)));
    let words = model("type = \"TurboMindModel\"\nend_str = \"<eoa>\"\ngen_config = { stop_words = [\"x\", 92542] }");
    assert_eq!((words.stop_words, words.decoding.stop_ids), (vec!["<eoa>".to_owned(), "x".to_owned()], vec![92542]));
    model("type = \"TurboMindModel\"\nengine_config = { rope_scaling_factor = 1.0 }");
    let scaled = said("type = \"TurboMindModel\"\nengine_config = { rope_scaling_factor = 2.5 }");
    assert!(scaled.contains("`engine_config.rope_scaling_factor` is not yet supported"), "{scaled}");
    assert!(scaled.contains("eval.toml:5:19"), "{scaled}");
}

#[test]
fn what_vllm_is_told() {
    let greedy = model(
        "type = \"VLLM\"\nmax_seq_len = 4096
model_kwargs = { tensor_parallel_size = 2, max_model_len = 8192, dtype = \"bfloat16\", gpu_memory_utilization = 0.9 }
generation_kwargs = { temperature = 0 }",
    );
    assert_eq!((greedy.max_seq_len, greedy.num_gpus, greedy.dtype), (Some(4096), 2, Some(Dtype::Bfloat16)));
    assert_eq!((greedy.decoding.do_sample, greedy.decoding.repetition_penalty), (None, Some(1.0)));
    let more = "type = \"VLLM\"\nmodel_kwargs = { tensor_parallel_size = 1 }\nrun_cfg = { num_gpus = 0 }";
    let more = said(&format!("{more}\ngeneration_kwargs = {{ temperature = 0 }}"));
    assert!(more.contains("`tensor_parallel_size` asks for more GPUs (1) than `run_cfg.num_gpus` (0)"), "{more}");
    let usual = model("type = \"VLLM\"");
    assert_eq!((usual.decoding.do_sample, usual.decoding.temperature), (Some(true), Some(1.0)));
    assert!(said("type = \"VLLM\"").contains("draws tokens at temperature 1"));
    let chat = model("type = \"VLLMwithChatTemplate\"");
    assert_eq!(chat.decoding.do_sample, None);
    let warm =
        model("type = \"VLLMwithChatTemplate\"\ngeneration_kwargs = { temperature = 0.6, top_k = -1, seed = 7 }");
    assert_eq!((warm.decoding.do_sample, warm.decoding.temperature), (Some(true), Some(0.6)));
    assert_eq!((warm.decoding.top_k, warm.decoding.seed), (Some(0), Some(7)));
}

#[test]
fn what_transformers_is_told() {
    let model = model(
        "type = \"HuggingFaceCausalLM\"\nbatch_padding = false
model_kwargs = { device_map = \"auto\", trust_remote_code = true, torch_dtype = \"torch.float16\" }
generation_kwargs = { temperature = 0, top_k = 5, repetition_penalty = 1.1 }",
    );
    assert_eq!((model.dtype, model.decoding.temperature), (Some(Dtype::Float16), None));
    assert_eq!((model.decoding.top_k, model.decoding.repetition_penalty), (Some(5), Some(1.1)));
    let scaled = said("type = \"HuggingFaceBaseModel\"\nmodel_kwargs = { rope_scaling = { factor = 4.0 } }");
    assert!(scaled.contains("`model_kwargs.rope_scaling` is not yet supported"), "{scaled}");
    let notes = said("type = \"HuggingFaceBaseModel\"\nmodel_kwargs = { device_map = \"auto\" }\nverbose = true");
    assert_eq!(notes, "`verbose`, `model_kwargs.device_map` have no effect");
}

#[test]
fn each_class_shortens_prompts_in_its_own_way() {
    let truncation = |keys: &str| model(keys).truncation;
    let side = |keys: &str| model(keys).tokenizer_kwargs.get("truncation_side").cloned();
    assert!(truncation("type = \"HuggingFaceBaseModel\"\nmax_seq_len = 99\ndrop_middle = false").is_default());
    let middle = Some(DropMiddle::Tokens);
    let base = truncation("type = \"HuggingFaceBaseModel\"\ndrop_middle = true");
    assert_eq!(base, Truncation { middle, ..Truncation::default() });
    let chat = truncation("type = \"HuggingFacewithChatTemplate\"\nmode = \"mid\"");
    assert_eq!(chat, Truncation { middle, reserves_answer: true, ..Truncation::default() });
    let vllm = truncation("type = \"VLLM\"\nmode = \"mid\"");
    let texts = Some(DropMiddle::Texts);
    assert_eq!(vllm, Truncation { middle: texts, reserves_answer: true, ..Truncation::default() });
    let old = "type = \"HuggingFaceCausalLM\"";
    let plain = Truncation { max_prompt_len: Some(2048), reserves_answer: true, middle: None };
    assert_eq!((truncation(old), side(old)), (plain.clone(), Some("own".into())));
    let told = format!("{old}\nmax_seq_len = 99\nmode = \"mid\"\ntokenizer_kwargs = {{ truncation_side = \"right\" }}");
    let expected = Truncation { max_prompt_len: None, middle: texts, ..plain };
    assert_eq!((truncation(&told), side(&told)), (expected, Some("right".into())));
    let batches = format!("{old}\nmax_seq_len = 99\nbatch_padding = true\nmode = \"mid\"");
    assert!(truncation(&batches).is_default());
    assert!(said(&batches).contains("`mode` has no effect"), "{}", said(&batches));
    let turbo = said("type = \"TurboMindModelwithChatTemplate\"\ndrop_middle = true");
    assert!(turbo.contains("`drop_middle` has no effect"), "{turbo}");
    // The keys themselves, of a model without a class.
    let keys = truncation("max_prompt_len = 7\nreserve_max_out_len = true\ndrop_middle = \"texts\"");
    assert_eq!(keys, Truncation { max_prompt_len: Some(7), reserves_answer: true, middle: texts });
    assert_eq!(truncation("drop_middle = true").middle, middle);
    assert!(
        said("drop_middle = \"ends\"").contains("unknown drop_middle `ends`"),
        "{}",
        said("drop_middle = \"ends\"")
    );
}

#[test]
fn a_class_that_is_not_served_is_refused_by_name() {
    for (class, help) in [
        ("ClaudeSDK", "endpoints that speak OpenAI's protocol are served"),
        ("opencompass.models.BailingAPI", "endpoints that speak OpenAI's protocol are served"),
        ("Mixtral", "it reads Mistral's own files"),
        ("VLLMwithChatTemplat", "did you mean `VLLMwithChatTemplate`?"),
    ] {
        let said = said(&format!("type = \"{class}\""));
        assert!(said.contains(&format!("`{class}` is not yet supported")) && said.contains(help), "{said}");
    }
    assert!(said("type = \"hff\"").contains("unknown type `hff`"));
}

#[test]
fn a_revision_is_one_of_the_hub() {
    let fixture = Fixture::new();
    let snapshots = "home/.cache/huggingface/hub/models--org--tiny/snapshots";
    for commit in ["aaa", "bbb"] {
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            fixture.write(&format!("{snapshots}/{commit}/{file}"), "{}");
        }
    }
    let text = "[[model]]\nabbr = \"m\"\npath = \"org/tiny\"\ntype = \"HuggingFaceBaseModel\"\nmodel_kwargs = { revision = \"bbb\" }\n";
    let config = fixture.good(&format!("{text}{DATASET}"));
    assert_eq!(config.models[0].path, fixture.path(&format!("{snapshots}/bbb")));
}

const USERS: &str = "from mmengine.config import read_base
from opencompass.models.internal import LLMv2
with read_base():
    from .datasets.siqa.siqa_gen import siqa_datasets
datasets = siqa_datasets
models = [dict(type=LLMv2, path='model_weights:s3://model_weights/0331/1006_pr/5499/',
    tokenizer_path='/no/such/llamav4.model', model_type='converted', tokenizer_type='v4', max_out_len=100, max_seq_len=2048,
    batch_size=8, run_cfg=dict(num_gpus=8, num_procs=8))]
";

fn users(dry_run: bool) -> Result<(Config, Vec<String>), Diagnostics> {
    let fixture = Fixture::new();
    fixture.write("eval.py", USERS);
    fixture.write("data/siqa/dev.jsonl", "");
    fixture.write("data/siqa/dev-labels.lst", "");
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(fixture.path("data"));
    flags.dry_run = dry_run;
    let loaded = load(Some(&fixture.path("eval.py")), &flags)?;
    Ok((loaded.config, loaded.notes.into_iter().map(|note| note.message).collect()))
}

#[test]
fn the_users_own_block_plans_where_nothing_is_fetched_and_is_refused_when_run() {
    let (config, notes) = users(true).unwrap();
    let model = &config.models[0];
    assert_eq!((model.kind, model.num_gpus, model.max_out_len), (ModelKind::InternLm, 8, 100));
    assert_eq!(model.abbr, "opencompass.models.internal.LLMv2_1006_pr_5499");
    assert!(
        notes.iter().any(|note| note.contains("a run would be refused: `path") && note.contains("in an object store")),
        "{notes:?}"
    );
    let said = users(false).unwrap_err().to_string();
    assert!(
        said.contains("from which nothing is fetched here")
            && said.contains("copy the model to a directory on this host"),
        "{said}"
    );
    assert!(said.contains("no directory `/no/such/llamav4.model`") && said.contains("2 errors"), "{said}");
}
