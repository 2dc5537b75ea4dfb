//! Golden output of OpenCompass 0.5.4, from the shipped presets through the whole chain: per-label scores, generations, per-sample
//! correctness.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "../../../../common/data/tests/it/presets/layout.rs"]
#[expect(dead_code, reason = "the readers' own tests use the rest")]
mod layout;
mod tie;

use compass_tests::Job;
use serde_json::{Map, Value};
use std::path::Path;
use tie::assert_tie;

fn read(path: &Path) -> Map<String, Value> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The golden predictions of a configuration, by data set.
fn golden(folder: &Path) -> Vec<(String, Map<String, Value>)> {
    let files = std::fs::read_dir(folder.join("predictions")).unwrap().map(|entry| entry.unwrap().path());
    let mut golden: Vec<_> =
        files.map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), read(&file))).collect();
    golden.sort_by(|a, b| a.0.cmp(&b.0));
    golden
}

/// Runs the data sets of one preset as the reference did; returns how many samples agree.
fn reproduce(shared: &Path, data: &Path, preset: &str) -> usize {
    let folder = shared.join("golden/opencompass").join(preset);
    let golden = golden(&folder);
    let model = shared.join("models/stories260K-hf");
    let names: Vec<String> = golden.iter().map(|(abbr, _)| format!("\"{preset}/{abbr}\"")).collect();
    let toml = format!(
        "\ndatasets = [{}]\n[[model]]\nabbr = \"m\"\npath = \"{}\"\nmax_seq_len = 4096\nmax_out_len = 24\n\
         profile = \"opencompass\"\n",
        names.join(", "),
        model.display()
    );
    let job = Job::new(&toml);
    let limit = golden.iter().map(|(_, records)| records.len()).max().unwrap().to_string();
    let data = data.display().to_string();
    job.run(&["--data-dir", &data, "--limit", &limit]).expect(0);
    for (abbr, theirs) in &golden {
        let ours = job.predictions("m", abbr);
        for (index, theirs) in theirs {
            check(&model, &ours[index], theirs, &format!("{preset}/{abbr} {index}"));
        }
        let limited = ours.as_object().unwrap().len() > theirs.len();
        // Where the reference run executed nothing, it has predictions and no results.
        let results = folder.join("results").join(format!("{abbr}.json"));
        if !limited && results.is_file() {
            let results = read(&results);
            for (metric, theirs) in results.iter().filter(|(_, value)| value.is_number()) {
                assert_eq!(&job.result("m", abbr)[metric], theirs, "{preset}/{abbr} {metric}");
            }
        }
    }
    golden.iter().map(|(_, records)| records.len()).sum()
}

fn check(model: &Path, ours: &Value, theirs: &Value, at: &str) {
    for key in ["origin_prompt", "prediction", "gold"] {
        // A label is an integer in a Python file where a key of TOML is a text: 1 and "1" are the same answer.
        let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let Some(theirs) = theirs.get(key).map(written) else { continue };
        let text = written(&ours[key]);
        match key {
            "prediction" if text != theirs => assert_tie(model, &written(&ours["origin_prompt"]), &text, &theirs, at),
            _ => assert_eq!(text, theirs, "{at}: {key}"),
        }
    }
    for (label, theirs) in theirs.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("label: ")) {
        assert_eq!(ours[label]["prompt"], theirs["prompt"], "{at} {label}");
        for score in ["PPL", "Loglikelihood"] {
            let Some(theirs) = theirs.get(score).and_then(Value::as_f64) else { continue };
            let Some(ours) = ours[label][score].as_f64() else { panic!("{at} {label}: no {score}") };
            assert!((ours - theirs).abs() < 1e-4, "{at} {label} {score}: {ours} and {theirs}");
        }
    }
}

/// One test for each configuration, so that one that disagrees does not hide the others.
macro_rules! reproduced {
    ($($name:ident = $preset:literal),* $(,)?) => {$(
        #[test]
        #[ignore = "nightly"]
        fn $name() {
            let (Some(model), Some(layout)) = (layout::shared("models/stories260K-hf"), layout::layout()) else { return };
            let shared = model.ancestors().nth(2).unwrap();
            assert!(reproduce(shared, layout.root(), $preset) > 0);
        }
    )*};
}

reproduced! {
    arc_gen = "ARC_e_gen_1e0de5",
    arc_ppl = "ARC_e_ppl_a450bd",
    gaokao = "GaokaoBench_no_subjective_gen_4c31db",
    boolq = "SuperGLUE_BoolQ_ppl_16b1d9",
    agieval = "agieval_gen_a0c741",
    bbh = "bbh_gen_5b92b0",
    gsm8k = "gsm8k_gen_1d7fe4",
    hellaswag_ten_shots = "hellaswag_10shot_ppl_59c85e",
    hellaswag = "hellaswag_ppl_47bff9",
    humaneval = "humaneval_gen_8e312c",
    mgsm = "mgsm_gen_d967bc",
    mmlu_gen = "mmlu_gen_4d595a",
    mmlu_ppl = "mmlu_ppl_ac766d",
    piqa_gen = "piqa_gen_1194eb",
    piqa_ppl = "piqa_ppl_1cf9f0",
    winogrande_ll = "winogrande_ll_c5cf57",
    winogrande_ppl = "winogrande_ppl_55a66e",
}
