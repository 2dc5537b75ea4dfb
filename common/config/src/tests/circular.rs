//! CircularEval in configurations of OpenCompass and in TOML: options in several orders, and the evaluator of them.

use super::fixture::{DATASET, Fixture, MODEL, Messages};
use crate::load;
use compass_plan::evaluation::{EvaluatorSpec, Orders};
use compass_settings::Config;

const SCRIPT: &str = "from mmengine.config import read_base\n\
    from opencompass.datasets.circular import CircularARCDataset, CircularCSQADataset, CircularEvaluator\n\
    from opencompass.openicl.icl_evaluator import CircularEvaluator as MathBenchs\n\
    from opencompass.summarizers import CircularSummarizer\n\
    with read_base():\n\
    \x20   from opencompass.configs.datasets.ARC_e.ARC_e_gen_1e0de5 import ARC_e_datasets\n\
    \x20   from opencompass.configs.datasets.commonsenseqa.commonsenseqa_gen_1da2d0 import commonsenseqa_datasets\n\
    for ds, t in [(ARC_e_datasets, CircularARCDataset), (commonsenseqa_datasets, CircularCSQADataset)]:\n\
    \x20   for d in ds:\n\
    \x20       d['type'] = t\n\
    \x20       d['abbr'] = d['abbr'] + '-circular-4'\n\
    \x20       d['eval_cfg']['evaluator'] = {'type': CircularEvaluator, 'circular_pattern': 'all_possible'}\n\
    \x20       d['circular_patterns'] = 'all_possible'\n\
    datasets = ARC_e_datasets + commonsenseqa_datasets\n\
    models = [dict(type='echo', abbr='m', path='m')]\n";

fn read(fixture: &Fixture, script: &str) -> Result<Config, String> {
    for file in
        ["ARC/ARC-e/ARC-Easy-Dev.jsonl", "commonsenseqa/train_rand_split.jsonl", "commonsenseqa/dev_rand_split.jsonl"]
    {
        fixture.write(&format!("data/{file}"), "");
    }
    fixture.write("eval.py", script);
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(fixture.path("data"));
    let loaded = load(Some(&fixture.path("eval.py")), &flags);
    loaded.map(|loaded| loaded.config).map_err(|errors| fixture.strip(&errors.to_string()))
}

#[test]
fn a_preset_is_made_circular_as_opencompasss_example_does_it() {
    let config = read(&Fixture::new(), SCRIPT).unwrap_or_else(|errors| panic!("{errors}"));
    let [arc, csqa] = config.datasets.as_slice() else { panic!("{:?}", config.datasets) };
    let rows = arc.test.circular.as_ref().unwrap();
    assert_eq!((rows.options[3].as_str(), rows.answer.as_str()), ("textD", "answerKey"));
    assert_eq!((rows.answers.concat().as_str(), rows.patterns), ("ABCD", Orders::AllPossible));
    assert_eq!(arc.abbr, "ARC-e-circular-4");
    let evaluator = EvaluatorSpec::CircularEval { pattern: Orders::AllPossible };
    assert_eq!((&arc.eval.evaluator, &csqa.eval.evaluator), (&evaluator, &evaluator));
    // Its shots are asked as they are: they are of another split.
    let (test, train) = (&csqa.test.circular, &csqa.train.as_ref().unwrap().circular);
    assert_eq!((test.as_ref().unwrap().options.len(), train), (5, &None));
}

#[test]
fn the_evaluator_of_mathbench_has_the_same_name() {
    let fixture = Fixture::new();
    let of = |name: &str| {
        let script = format!("{SCRIPT}for d in datasets:\n    d['eval_cfg']['evaluator'] = dict(type={name})\n");
        read(&fixture, &script).unwrap_or_else(|errors| panic!("{errors}")).datasets[0].eval.evaluator.clone()
    };
    let circular = EvaluatorSpec::CircularEval { pattern: Orders::Circular };
    assert_eq!((of("MathBenchs"), of("'CircularEvaluator'")), (EvaluatorSpec::Circular, EvaluatorSpec::Circular));
    assert_eq!((of("CircularEvaluator"), of("'opencompass.datasets.CircularEvaluator'")), (circular.clone(), circular));
}

#[test]
fn each_metric_of_its_summarizer_is_a_row() {
    let summarizer = "summarizer = dict(type=CircularSummarizer, metric_types=['acc_origin', 'perf_circular'],\n\
                      dataset_abbrs=['ARC-e-circular-4', 'both'],\n\
                      summary_groups=[dict(name='both', subsets=[d['abbr'] for d in datasets])])\n";
    let config = read(&Fixture::new(), &format!("{SCRIPT}{summarizer}")).unwrap_or_else(|errors| panic!("{errors}"));
    let rows: Vec<String> = config
        .summary_rows
        .unwrap()
        .into_iter()
        .map(|row| format!("{} {}", row.name, row.metric.unwrap_or_default()))
        .collect();
    let wanted =
        ["ARC-e-circular-4 acc_origin", "ARC-e-circular-4 perf_circular", "both acc_origin", "both perf_circular"];
    assert_eq!(rows, wanted);
}

#[test]
fn what_is_wrong_is_said_in_its_place() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for more in ["circular_patterns'] = 'every'", "circular_patterns'] = [['A', 'B']]", "answer_key'] = 'answer'"] {
        let script = format!("{SCRIPT}ARC_e_datasets[0]['{more}\n");
        messages.add(more, &read(&fixture, &script).unwrap_err());
    }
    for keys in [
        "{ options = [\"A\", \"B\"] }",
        "{ options = [\"A\", \"A\"], answer = \"a\" }",
        "{ options = [], answer = \"a\" }",
        "{ options = [\"A\", \"B\"], answer = \"a\", answers = [\"x\"] }",
        "{ options = [\"A\", \"B\"], answer = \"a\", patterns = \"all\" }",
        "{ options = [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"], answer = \"a\", patterns = \"all_possible\" }",
    ] {
        let dataset = DATASET.replace("test.jsonl\"", &format!("test.jsonl\", circular = {keys}"));
        messages.add(keys, &fixture.bad(&format!("{MODEL}{dataset}")));
    }
    insta::assert_snapshot!(messages);
}
