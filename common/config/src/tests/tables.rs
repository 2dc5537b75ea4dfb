//! `[summarizer]` and `[[combination]]`, in TOML and in Python, and what a tree has by name.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::{Diagnostics, Loaded, load};
use compass_plan::summary::{Average, RowName};
use compass_settings::Config;

fn row(name: &str, metric: Option<&str>) -> RowName {
    RowName { name: name.into(), metric: metric.map(String::from) }
}

#[test]
fn rows_and_groups_by_name() {
    let fixture = Fixture::new();
    let config = fixture.good(&format!(
        "{MODEL}{DATASET}[summarizer]\ndataset_abbrs = [\"--- exam ---\", \"\", \"d\", [\"mmlu\", \"naive_average\"]]
groups = [\"mmlu\", \"GaokaoBench\"]
summary_groups = [{{ name = \"own\", subsets = [\"d\", \"e\"], weights = {{ d = 2 }} }}, {{ name = \"empty\", subsets = [] }}]\n"
    ));
    let rows = [row("--- exam ---", None), row("", None), row("d", None), row("mmlu", Some("naive_average"))];
    assert_eq!(config.summary_rows.as_deref(), Some(rows.as_slice()));
    let names: Vec<&str> = config.summary_groups.iter().map(|group| group.name.as_str()).collect();
    let of_mmlu = ["mmlu-humanities", "mmlu-stem", "mmlu-social-science", "mmlu-other", "mmlu", "mmlu-weighted"];
    assert_eq!(names, [of_mmlu.as_slice(), &["GaokaoBench", "own"]].concat());
    assert!(config.summary_groups.iter().all(|group| group.whole));
    assert_eq!(config.summary_groups[7].average, Average::Weighted(vec![2.0, 0.0]), "what is not named weighs nothing");
    let said = fixture.bad(&format!("{MODEL}{DATASET}[summarizer]\ngroups = [\"mmlu_po\"]\n"));
    assert!(said.contains("OpenCompass has no groups called `mmlu_po`") && said.contains("eval.toml:12:11"), "{said}");
    let said = fixture.bad(&format!("{MODEL}{DATASET}[summarizer]\ndataset_abbrs = [[\"a\"]]\n"));
    assert!(said.contains("`dataset_abbrs[0]` takes a row, or a pair of row and metric"), "{said}");
}

const TWO: &str = "[[model]]\nabbr = \"n\"\ntype = \"echo\"\n";

fn second() -> String {
    DATASET.replace("abbr = \"d\"", "abbr = \"e\"")
}

#[test]
fn pairs_that_are_not_asked_for() {
    let fixture = Fixture::new();
    let text = format!("{MODEL}{TWO}{DATASET}{}", second());
    let all = fixture.good(&text);
    let some = fixture.good(&format!(
        "{text}[[combination]]\nmodels = [\"m\", \"n\"]\ndatasets = [\"d\"]\n[[combination]]\nmodels = [\"n\"]\ndatasets = [\"e\"]\n"
    ));
    assert_eq!(some.not_combined.iter().collect::<Vec<_>>(), [&("m".to_owned(), "e".to_owned())]);
    assert!(all.not_combined.is_empty() && compass_settings::digest(&all) != compass_settings::digest(&some));
    let every = fixture.good(&format!("{text}[[combination]]\nmodels = [\"m\", \"n\"]\ndatasets = [\"d\", \"e\"]\n"));
    assert_eq!(
        compass_settings::digest(&every),
        compass_settings::digest(&all),
        "all pairs are what there is without combinations"
    );
    let said = fixture.bad(&format!("{text}[[combination]]\nmodels = [\"mm\"]\ndatasets = [\"d\"]\n"));
    assert!(said.contains("`mm` of a [[combination]] is not among the models of the configuration"), "{said}");
    let said = fixture.bad(&format!("models = [\"n\"]\n{text}[[combination]]\nmodels = [\"m\"]\ndatasets = [\"d\"]\n"));
    assert!(said.contains("no [[combination]] has a model with a data set of this job"), "{said}");
    let said = fixture.bad(&format!("{text}[[combination]]\nmodels = [\"m\"]\n"));
    assert!(said.contains("missing key `datasets` in [[combination]]"), "{said}");
}

const ENTRY: &str = "dict(abbr='NAME', test=dict(path='PATH'), reader_cfg=dict(input_columns=['q'], output_column='a'),\n\
                     \x20   infer_cfg=dict(prompt_template='{q}', inferencer='gen'), eval_cfg=dict(evaluator='em'))";

/// A tree with a few files.
fn tree(fixture: &Fixture) {
    let entry = |name: &str| {
        ENTRY.replace("NAME", name).replace("PATH", &fixture.path("data/test.jsonl").display().to_string())
    };
    let configs = "tree/opencompass/configs";
    fixture.write(
        &format!("{configs}/datasets/race/race_gen_x.py"),
        &format!("race_datasets = [{}]\nother_sets = [{}]\n", entry("race-high"), entry("race-other")),
    );
    fixture.write(
        &format!("{configs}/datasets/race/race_gen_own.py"),
        "from mmengine.config import read_base\nwith read_base():\n    from .race_gen_x import race_datasets\n",
    );
    fixture.write(&format!("{configs}/dataset_collections/race_gen_own.py"), "race_datasets = []\n");
    fixture.write(
        &format!("{configs}/models/own/hf_own_7b.py"),
        "models = [dict(type='echo', abbr='own-7b', path='x')]\n",
    );
    fixture.write(
        &format!("{configs}/summarizers/own.py"),
        "from mmengine.config import read_base\nwith read_base():\n    from .groups.own import own_summary_groups\n\
         summarizer = dict(dataset_abbrs=['---', ('race', 'naive_average')],\n\
         \x20   summary_groups=sum([v for k, v in locals().items() if k.endswith('_summary_groups')], []))\n\
         second = dict(dataset_abbrs=['race-high'])\n",
    );
    fixture.write(
        &format!("{configs}/summarizers/groups/own.py"),
        "own_summary_groups = [dict(name='race', subsets=['race-high', 'race-middle'])]\n",
    );
}

fn by_name(
    fixture: &mut Fixture,
    models: &[&str],
    datasets: &[&str],
    summarizer: Option<&str>,
) -> Result<Loaded, Diagnostics> {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    fixture.flags.models = names(models);
    fixture.flags.datasets = names(datasets);
    fixture.flags.summarizer = summarizer.map(str::to_owned);
    fixture.flags.python.opencompass = Some(fixture.path("tree"));
    load(None, &fixture.flags)
}

fn abbrs(config: &Config) -> (Vec<&str>, Vec<&str>) {
    let models = config.models.iter().map(|model| model.abbr.as_str()).collect();
    (models, config.datasets.iter().map(|dataset| dataset.abbr.as_str()).collect())
}

#[test]
fn files_of_a_tree_by_name() {
    let mut fixture = Fixture::new();
    tree(&fixture);
    let loaded = by_name(&mut fixture, &["hf_own_7b"], &["race_gen_own"], Some("own")).unwrap();
    assert_eq!(abbrs(&loaded.config), (vec!["own-7b"], vec!["race-high"]));
    let notes: Vec<&str> = loaded.notes.iter().map(|note| note.message.as_str()).collect();
    assert!(notes.iter().any(|note| note.starts_with("`race_gen_own` is the name of 2 files; taken is ")), "{notes:?}");
    let rows = [row("---", None), row("race", Some("naive_average"))];
    assert_eq!(loaded.config.summary_rows.as_deref(), Some(rows.as_slice()));
    assert_eq!(loaded.config.summary_groups.len(), 1);

    let loaded = by_name(&mut fixture, &["HF_own_*"], &["race_gen_x/_sets"], Some("own/second")).unwrap();
    assert_eq!(abbrs(&loaded.config), (vec!["own-7b"], vec!["race-other"]));
    assert_eq!(loaded.config.summary_rows, Some(vec![row("race-high", None)]));

    let loaded = by_name(&mut fixture, &["hf_own_7b"], &["race_gen_x"], Some("mmlu")).unwrap();
    assert_eq!(loaded.config.summary_groups.len(), 6, "groups by name");
    let said =
        by_name(&mut fixture, &["hf_own_7b"], &["race_gen_x/_bets", "race_gem"], Some("owm")).unwrap_err().to_string();
    assert!(said.contains("defines nothing whose name ends in `_bets`"), "{said}");
    assert!(said.contains("nothing defines the data set `race_gem`"), "{said}");
}

#[test]
fn a_name_of_a_preset_is_the_preset() {
    let mut fixture = Fixture::new();
    fixture.write("tree/opencompass/configs/datasets/siqa/siqa_gen.py", "siqa_datasets = 1 / 0\n");
    fixture.write("data/siqa/dev.jsonl", "");
    fixture.write("data/siqa/dev-labels.lst", "");
    fixture.write("tree/opencompass/configs/models/m.py", "models = [dict(type='echo', abbr='own-7b', path='x')]\n");
    fixture.flags.data_dir = Some(fixture.path("data"));
    let loaded = by_name(&mut fixture, &["m"], &["siqa_gen"], None).unwrap();
    assert_eq!(abbrs(&loaded.config), (vec!["own-7b"], vec!["siqa"]));
}

#[test]
fn a_trees_place_is_found_in_order() {
    let script = "from mmengine.config import read_base\nwith read_base():\n    from opencompass.configs.models.m import models\n    \
                  from .d import datasets\n";
    let model = |name: &str| format!("models = [dict(type='echo', abbr='{name}', path='x')]\n");
    let fixture = Fixture::new();
    fixture.write("project/eval.py", script);
    fixture.write(
        "project/d.py",
        &format!("datasets = [{}]\n", ENTRY.replace("NAME", "d").replace("PATH", "../data/test.jsonl")),
    );
    let mut flags = fixture.flags.clone();
    flags.python.environments = vec![fixture.path("venv"), fixture.path("conda")];
    let named = |flags: &crate::Overrides| {
        load(Some(&fixture.path("project/eval.py")), flags).map(|loaded| loaded.config.models[0].abbr.clone())
    };
    let said = named(&flags).unwrap_err().to_string();
    assert!(
        said.contains("No module named 'opencompass.configs.models.m'") && said.contains("--opencompass DIR"),
        "{said}"
    );
    fixture.write("conda/lib/python3.11/site-packages/opencompass/configs/models/m.py", &model("of-conda"));
    assert_eq!(named(&flags).unwrap(), "of-conda");
    fixture.write("venv/lib/python3.10/site-packages/opencompass/configs/models/m.py", &model("of-venv"));
    assert_eq!(named(&flags).unwrap(), "of-venv");
    fixture.write("opencompass/configs/models/m.py", &model("of-ancestor"));
    assert_eq!(named(&flags).unwrap(), "of-ancestor");
    fixture.write("named/opencompass/configs/models/m.py", &model("of-flag"));
    flags.python.opencompass = Some(fixture.path("named"));
    assert_eq!(named(&flags).unwrap(), "of-flag");
    flags.python.opencompass = Some(fixture.path("named/opencompass"));
    assert_eq!(named(&flags).unwrap(), "of-flag");
}

#[test]
fn a_script_with_combinations_and_a_summarizer() {
    let fixture = Fixture::new();
    let entry = |name: &str| ENTRY.replace("NAME", name).replace("PATH", "data/test.jsonl");
    fixture.write(
        "eval.py",
        &format!(
            "from mmengine.config import read_base\nfrom opencompass.summarizers import DefaultSummarizer\nwith read_base():\n    \
             from .summarizers.groups.mmlu import mmlu_summary_groups\n    from .summarizers.groups.legacy.cibench import cibench_summary_groups\n\
             one, two = {}, {}\ndatasets = [one, two]\n\
             models = [dict(type='echo', abbr='m', path='x'), dict(type='echo', abbr='n', path='x')]\n\
             model_dataset_combinations = [dict(models=[models[0]], datasets=[one]), dict(models=[models[1]], datasets=datasets)]\n\
             summarizer = dict(type=DefaultSummarizer, dataset_abbrs=['--- all ---', 'd', ('e', 'score'), ''],\n\
             \x20   summary_groups=sum([v for k, v in locals().items() if k.endswith('_summary_groups')], []))\n",
            entry("d"),
            entry("e")
        ),
    );
    let loaded = load(Some(&fixture.path("eval.py")), &fixture.flags).unwrap();
    assert_eq!(loaded.config.not_combined.iter().collect::<Vec<_>>(), [&("m".to_owned(), "e".to_owned())]);
    let rows = [row("--- all ---", None), row("d", None), row("e", Some("score")), row("", None)];
    assert_eq!(loaded.config.summary_rows.as_deref(), Some(rows.as_slice()));
    assert_eq!(loaded.config.summary_groups.len(), 6 + 15);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn runs_of_everything_that_is_generated() {
    let mut fixture = Fixture::new();
    let scored = second().replace(
        "inferencer = \"gen\", prompt_template = \"{q}\"",
        "inferencer = \"ppl\", prompt_template = { A = \"{q}\", B = \"x\" }",
    );
    let text = format!("{MODEL}{DATASET}{}", scored.replace("\"em\"", "\"acc\""))
        .replace("evaluator = \"em\"", "evaluator = \"acc\"");
    fixture.flags.dataset_num_runs = Some(4);
    let config = fixture.good(&text);
    let decoding = &config.datasets[0].infer.generation().unwrap().decoding;
    assert_eq!((decoding.num_return_sequences, config.datasets[0].eval.k.clone()), (Some(4), vec![4]));
    assert!(config.datasets[1].infer.generation().is_none());
    assert_eq!(fixture.notes(&text), ["eval.toml:11:1: `--dataset-num-runs 4` has no effect on `e`"]);
    fixture.flags.dataset_num_runs = None;
    let once = fixture.good(&text.replace("[[dataset]]\nabbr = \"e\"", "[[dataset]]\nn = 1\nabbr = \"e\""));
    assert_eq!(once.datasets[1].infer, config.datasets[1].infer);
}

#[test]
fn runners_of_other_clusters_are_refused_unless_a_flag_replaces_them() {
    let mut fixture = Fixture::new();
    for runner in ["VOLCRunner", "RJOBRunner", "LocalAPIRunner"] {
        fixture.flags.slurm.asked = false;
        let text = format!("{MODEL}{DATASET}[infer.runner]\ntype = \"{runner}\"\nmax_num_workers = 4\n");
        let said = fixture.bad(&text);
        assert!(said.contains(&format!("`type = \"{runner}\"` is not yet supported")), "{said}");
        fixture.flags.slurm.asked = true;
        assert!(matches!(fixture.good(&text).infer.runner.kind, compass_settings::RunnerKind::Slurm(_)));
    }
    // How jobs of DLC would be made does not matter either.
    let text =
        format!("{MODEL}{DATASET}[infer.runner]\ntype = \"DLCRunner\"\naliyun_cfg = {{}}\nmax_num_workers = 4\n");
    assert_eq!(fixture.good(&text).infer.runner.max_num_workers, Some(4));
    fixture.flags.slurm.asked = false;
    assert!(fixture.bad(&text).contains("missing key `workspace_id`"));
}
