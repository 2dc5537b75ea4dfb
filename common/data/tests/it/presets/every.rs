//! Every preset whose data is there can be read and rendered.

use super::layout::{layout, rendered};
use compass_config::presets;

/// Rows of each data set; enough for its shapes, and all data sets of all presets stay a matter of seconds.
const ROWS: usize = 50;
/// The presets' folders of data that the shared folder has; of each at least one data set is rendered.
const HAVE: [&str; 24] = [
    "ARC_e_gen_1e0de5",
    "GaokaoBench_no_subjective_gen_4c31db",
    "IFEval_gen_353ae7",
    "SuperGLUE_BoolQ_ppl_16b1d9",
    "agieval_gen_5c79b4",
    "agieval_gen_a0c741",
    "agieval_mixed_e33d83",
    "bbh_gen_ee62e9",
    "bbq_ll",
    "crowspairs_ppl_e811e1",
    "gsm8k_gen_1d7fe4",
    "hellaswag_ppl_47bff9",
    "humaneval_gen_8e312c",
    "lambada_gen_217e11",
    "lm_eval_boolq",
    "lm_eval_hellaswag",
    "lm_eval_lambada_openai",
    "lm_eval_piqa",
    "mgsm_gen_d967bc",
    "mmlu_gen_4d595a",
    "mmlu_ppl_ac766d",
    "piqa_ppl_1cf9f0",
    "theoremqa_gen",
    "winogrande_gen_458220",
];

#[test]
fn every_preset_with_data_renders() {
    let Some(layout) = layout() else { return };
    let (mut faults, mut seen, mut done) = (Vec::new(), Vec::new(), 0);
    for preset in presets() {
        let datasets = layout.preset(&preset.name);
        let real: Vec<_> = datasets.iter().filter(|dataset| layout.has_data(dataset)).collect();
        for dataset in &real {
            match rendered(dataset, ROWS) {
                Ok(rendered) if rendered.samples.is_empty() => {
                    faults.push(format!("{} {}: no sample", preset.name, dataset.abbr));
                }
                Ok(rendered) => {
                    done += 1;
                    let without = rendered.samples.iter().filter(|sample| sample.gold.is_null()).count();
                    if dataset.output_column.is_some() && without > 0 {
                        faults.push(format!("{} {}: {without} golds are null", preset.name, dataset.abbr));
                    }
                }
                Err(errors) => faults.push(format!("{} {}: {}", preset.name, dataset.abbr, errors.join("; "))),
            }
        }
        if !real.is_empty() {
            seen.push(preset.name);
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let lacking: Vec<_> = HAVE.iter().filter(|name| !seen.iter().any(|seen| seen == *name)).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    eprintln!("{done} data sets of {} presets rendered", seen.len());
}

#[test]
fn a_question_asks_for_the_reference_that_its_evaluator_reads() {
    let Some(layout) = layout() else { return };
    for (preset, keys) in
        [("theoremqa_gen", ["Answer", "Answer_type"]), ("IFEval_gen", ["instruction_id_list", "kwargs"])]
    {
        let rendered = rendered(&layout.preset(preset)[0], ROWS).unwrap();
        for sample in &rendered.samples {
            let held: Vec<&String> = sample.gold.as_object().unwrap().keys().collect();
            assert_eq!(held, keys, "{preset}");
        }
    }
}
