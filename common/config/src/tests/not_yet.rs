//! Every key and value that the contract names and a later version serves is refused as such, never as unknown.

use super::fixture::{DATASET, Fixture, MODEL};

/// Asserts that the file has exactly this error.
fn refused(text: &str, place: &str, message: &str) {
    let places = Fixture::new().places(text);
    assert_eq!(places, [format!("eval.toml:{place}: {message} is not yet supported")], "in\n{text}");
}

#[test]
fn of_a_model() {
    for (line, place, message) in [
        ("model_kwargs = { load_in_8bit = true }", "5:18", "`model_kwargs.load_in_8bit`"),
        ("tokenizer_kwargs = { truncation = false }", "5:35", "`tokenizer_kwargs.truncation = false`"),
        ("generation_kwargs = { num_beams = 4 }", "5:35", "`num_beams = 4`"),
    ] {
        refused(&format!("{MODEL}{line}\n{DATASET}"), place, message);
    }
    let shown = Fixture::new().bad(&(MODEL.replace("models/tiny", "org/name-7b") + DATASET));
    assert!(shown.contains("no directory `org/name-7b`"), "{shown}");
    assert!(shown.contains("a model of that name in the hub cache"), "{shown}");
}

#[test]
fn of_a_data_set() {
    let with = |from: &str, to: &str| format!("{MODEL}{}", DATASET.replace(from, to));
    for retriever in ["topk", "votek", "dpp", "mdl", "TopkRetriever", "DPPRetriever"] {
        let to = format!("inferencer = \"gen\", retriever = {{ type = \"{retriever}\", ice_num = 5 }}");
        refused(&with("inferencer = \"gen\"", &to), "9:56", &format!("`type = \"{retriever}\"`"));
    }
    for inferencer in ["min_k_percent", "ToTInferencer"] {
        let to = format!("inferencer = \"{inferencer}\"");
        refused(&with("inferencer = \"gen\"", &to), "9:28", &format!("`inferencer = \"{inferencer}\"`"));
    }
    for evaluator in ["human_eval_plus", "generic_llm", "cascade"] {
        refused(&with("\"em\"", &format!("\"{evaluator}\"")), "10:26", &format!("`evaluator = \"{evaluator}\"`"));
    }
    refused(&with("\"em\"", "\"NeedleBenchParallelEvaluator\""), "10:26", "evaluator `NeedleBenchParallelEvaluator`");
    let to = "\"em\", pred_postprocessor = \"scibench_postprocess\"";
    refused(&with("\"em\"", to), "10:53", "postprocessor `scibench_postprocess`");
    refused(&with("output_column", "test_split = \"dev\", output_column"), "7:39", "`test_split`");
}

#[test]
fn of_a_stage_and_of_the_file() {
    for runner in ["volc", "rjob", "VOLCRunner"] {
        let text = format!(
            "{MODEL}{DATASET}[infer.runner]\nqos = \"x\"\ntype = \"{runner}\"\n[eval.runner]\ntype = \"local\"\n"
        );
        refused(&text, "13:8", &format!("`type = \"{runner}\"`"));
    }
    let text = format!("{MODEL}{DATASET}[infer.runner]\ntask = {{ type = \"OpenICLAttackTask\" }}\n");
    refused(&text, "12:17", "task `OpenICLAttackTask`");
}

#[test]
fn what_is_not_part_of_the_job_is_not_refused() {
    let team = "[[model]]\nabbr = \"big\"\ntype = \"internlm\"\npath = \"c:s3://b/p/\"\ndtype = \"bfloat16\"\n
                [[model]]\nabbr = \"far\"\ntype = \"hf\"\npath = \"/nowhere\"\n";
    let fixture = Fixture::new();
    let config = fixture.good(&format!("models = [\"m\"]\n{MODEL}{team}{DATASET}"));
    assert_eq!(config.models.len(), 1);
    let places = fixture.places(&format!("models = [\"m\"]\n{MODEL}{team}colour = 1\n{DATASET}"));
    assert_eq!(places, ["eval.toml:16:1: unknown key `colour`"], "its keys are checked all the same");
}
