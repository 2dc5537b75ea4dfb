//! Every configuration of the golden folder that ships as a preset: prompts, shots and gold answers as OpenCompass 0.5.4
//! wrote them.

use super::layout::{layout, rendered, shared};
use compass_plan::prompt::{Prompt, RenderedDataset, Shot, render_shots};
use compass_plan::{Body, Sample};
use compass_pyfmt::python_str;
use compass_settings::DatasetConfig;
use serde_json::{Map, Value};

fn shots<'a>(rendered: &'a RenderedDataset, sample: &Sample) -> Vec<&'a Shot> {
    sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect()
}

/// Returns the prompt that a model without a meta template reads, as OpenCompass prints it.
fn printed(dataset: &DatasetConfig, rendered: &RenderedDataset, prompt: &Prompt, shots: &[&Shot]) -> Value {
    prompt.render_for(shots, &rendered.format, None, dataset.infer.prompt_mode()).printed()
}

fn assert_sample(dataset: &DatasetConfig, rendered: &RenderedDataset, sample: &Sample, expected: &Value, at: &str) {
    let shots = shots(rendered, sample);
    if let Some(gold) = expected.get("gold") {
        assert_eq!(python_str(&sample.gold), python_str(gold), "{at}");
    }
    let labels = expected.as_object().unwrap().keys().filter(|key| key.starts_with("label: ")).count();
    let of = |label: &Value| &expected[&format!("label: {}", python_str(label))]["prompt"];
    match &sample.body {
        Body::Gen { prompt } => {
            assert_eq!(printed(dataset, rendered, prompt, &shots), expected["origin_prompt"], "{at}");
        }
        Body::Ppl { options } => {
            assert_eq!(render_shots(&shots, &rendered.format, None).printed(), expected["in-context examples"], "{at}");
            assert_eq!(options.len(), labels, "{at}");
            let mut kept = shots.len();
            for option in options {
                // Where a prompt was too long for the model, OpenCompass dropped shots from the end, for each label at
                // least as many as for the one before.
                let shown = |kept: usize| printed(dataset, rendered, &option.prompt, &shots[..kept]);
                while kept > 0 && &shown(kept) != of(&option.label) {
                    kept -= 1;
                }
                assert_eq!(&shown(kept), of(&option.label), "{at}");
            }
        }
        Body::Loglikelihood { options, .. } => {
            assert_eq!(options.len(), labels, "{at}");
            for option in options {
                let context = option.context.as_ref().unwrap().render(&shots, &rendered.format);
                assert_eq!(of(&option.label), &format!("{context}{}", option.continuation), "{at}");
            }
        }
        other => panic!("{at}: {other:?}"),
    }
}

#[test]
fn presets_ask_what_opencompass_asked() {
    let (Some(golden), Some(layout)) = (shared("golden/opencompass"), layout()) else { return };
    let mut prompts = 0;
    for folder in std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()) {
        let preset = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let datasets = layout.preset(&preset);
        for file in std::fs::read_dir(folder.join("predictions")).unwrap().map(|entry| entry.unwrap().path()) {
            let abbr = file.file_stem().unwrap().to_str().unwrap();
            let at = format!("{preset}/{abbr}");
            let dataset = datasets.iter().find(|dataset| dataset.abbr == abbr).unwrap_or_else(|| panic!("{at}"));
            let by_index: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let rendered = rendered(dataset, by_index.len()).unwrap_or_else(|errors| panic!("{at}: {errors:#?}"));
            assert_eq!(rendered.samples.len(), by_index.len(), "{at}");
            for sample in &rendered.samples {
                let index = sample.index.to_string();
                assert_sample(dataset, &rendered, sample, &by_index[&index], &format!("{at} {index}"));
                prompts += 1;
            }
        }
    }
    assert!(prompts > 0, "the golden folder is empty");
    eprintln!("{prompts} samples agree");
}
