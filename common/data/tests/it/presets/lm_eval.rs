//! Presets in lm-eval's manner: contexts and continuations as lm-eval 0.4.13 logged them (`arguments` of `--log_samples`).

use super::layout::{layout, rendered, shared};
use compass_plan::Body;
use serde_json::Value;

#[test]
fn presets_ask_what_lm_eval_asked() {
    let (Some(golden), Some(layout)) = (shared("golden/lm-eval"), layout()) else { return };
    for (preset, task) in [("lm_eval_piqa", "g_piqa"), ("lm_eval_lambada_openai", "g_lambada")] {
        let log = std::fs::read_to_string(golden.join(format!("samples_{task}.jsonl"))).unwrap();
        let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let rendered = rendered(&layout.preset(preset)[0], log.len()).unwrap_or_else(|errors| panic!("{errors:#?}"));
        assert_eq!(rendered.samples.len(), log.len(), "{task}");
        for (sample, expected) in rendered.samples.iter().zip(&log) {
            assert_eq!(expected["doc_id"], sample.index);
            let Body::Loglikelihood { context, options } = &sample.body else { panic!("{task}: {:?}", sample.body) };
            let context = context.render(&[], &rendered.format);
            let arguments = expected["arguments"].as_object().unwrap();
            assert_eq!(options.len(), arguments.len(), "{task}");
            for (at, option) in options.iter().enumerate() {
                let argument = &arguments[&format!("gen_args_{at}")];
                assert_eq!(argument["arg_0"], context.as_str(), "{task}");
                assert_eq!(argument["arg_1"], option.continuation.as_str(), "{task}");
            }
            if options.len() > 1 {
                assert_eq!(expected["target"], sample.gold.to_string().as_str(), "{task}");
            }
        }
    }
}
