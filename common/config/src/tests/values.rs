//! Values that each key takes, and values that it refuses.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::evaluation::{ChoiceMetric, EvaluatorSpec};
use compass_plan::prompt::{Options, Template};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{BosPolicy, Decoding, DeviceRequest, Dtype, GenSpec, InferSpec, ModelKind, NumericProfile};
use compass_postprocess::Postprocessor;
use compass_settings::{Expression, StoreConfig};
use compass_types::range::RangeSpec;

fn with(from: &str, to: &str) -> String {
    format!("{MODEL}{}", DATASET.replace(from, to))
}

/// Asserts that the file has one error with this text in it.
fn wrong(text: &str, message: &str) {
    let shown = Fixture::new().bad(text);
    assert!(shown.contains(message), "{shown}");
    assert!(shown.ends_with("\n1 error; nothing was started"), "{shown}");
}

#[test]
fn defaults() {
    let fixture = Fixture::new();
    let config = fixture.good(&format!("{MODEL}{DATASET}"));
    let model = &config.models[0];
    assert_eq!(
        (model.kind, model.dtype, model.device, model.bos),
        (ModelKind::Hf, None, DeviceRequest::Auto, BosPolicy::Auto)
    );
    assert_eq!((model.max_seq_len, model.max_out_len, model.num_gpus), (None, 64, 0));
    assert_eq!(model.tokenizer_path, model.path);
    assert_eq!(config.listen.to_string(), "127.0.0.1:0");
    assert_eq!(config.state_dir, fixture.path("home/.local/state/compass"));
    assert!(config.work_dir.is_absolute() && config.work_dir.ends_with("outputs/default"));
    let dataset = &config.datasets[0];
    assert_eq!((&dataset.test_range, &dataset.train_range), (&RangeSpec::All, &RangeSpec::All));
    assert_eq!(dataset.retriever, RetrieverKind::Zero);
    assert_eq!(dataset.infer, InferSpec::Gen(GenSpec { max_out_len: None, stop: vec![], ..GenSpec::default() }));
    assert_eq!(dataset.test.origin.line, 8);
    assert_eq!(
        (config.infer.runner.retry, config.infer.runner.max_workers_per_gpu, config.infer.runner.max_gpus),
        (2, 1, 0)
    );
}

#[test]
fn values_of_a_model() {
    let text = format!(
        "{MODEL}tokenizer_path = \"\"\ninherit = \"\"\nmax_seq_len = 512\nbatch_size = \"auto\"\ndtype = \"float32\"\ndevice = \"cuda\"
         add_bos_token = false\nprofile = \"canonical\"\nrun_cfg = {{ num_gpus = 1, num_procs = 1 }}\nmodel_kwargs = {{}}
         stop_words = [\"\\n\"]\npeft_path = \"\"\n[[model]]\nabbr = \"e\"\ntype = \"echo\"\n{DATASET}"
    );
    let config = Fixture::new().good(&text);
    let model = &config.models[0];
    assert_eq!((model.dtype, model.device, model.bos), (Some(Dtype::Float32), DeviceRequest::Cuda, BosPolicy::Never));
    assert_eq!(
        (model.max_seq_len, model.num_gpus, model.stop_words.as_slice()),
        (Some(512), 1, ["\n".to_owned()].as_slice())
    );
    assert_eq!(config.models[1].kind, ModelKind::Echo);
}

#[test]
fn kwargs_of_the_seeds_are_noted() {
    let text = format!(
        "{MODEL}model_kwargs = {{ device_map = \"auto\", trust_remote_code = true }}
tokenizer_kwargs = {{ padding_side = \"left\", truncation = \"left\", truncation_side = \"left\", use_fast = false }}
{DATASET}[infer.runner]\ntask = {{ type = \"OpenICLInferTask\" }}\n"
    );
    let notes = Fixture::new().notes(&text);
    assert_eq!(
        notes,
        [
            "eval.toml:5:18: `model_kwargs.device_map` is ignored",
            "eval.toml:5:39: `model_kwargs.trust_remote_code` is ignored",
            "eval.toml:6:22: `tokenizer_kwargs.padding_side` is ignored",
            "eval.toml:6:92: `tokenizer_kwargs.use_fast` is ignored",
            "eval.toml:14:17: task `OpenICLInferTask` is ignored",
        ]
    );
}

#[test]
fn how_a_model_computes_and_generates() {
    let text = format!(
        "{MODEL}dtype = \"bfloat16\"\nprofile = \"lm-eval-hf\"\nchat = true\nmin_out_len = 2
tokenizer_kwargs = {{ truncation = \"right\", padding_side = \"left\" }}
generation_kwargs = {{ do_sample = true, temperature = 0.7, top_k = 5, top_p = 0.9, repetition_penalty = 1.1, \
         num_return_sequences = 2, seed = 7, eos_token_id = [1, 2], max_new_tokens = 9 }}\n{DATASET}"
    );
    let config = Fixture::new().good(&text);
    let model = &config.models[0];
    assert_eq!((model.dtype, model.profile, model.chat), (Some(Dtype::Bfloat16), NumericProfile::LmEvalHf, true));
    assert_eq!((model.max_out_len, model.min_out_len), (9, 2));
    let kwargs = serde_json::Value::from(model.tokenizer_kwargs.clone());
    assert_eq!(kwargs, serde_json::json!({"truncation": "right", "padding_side": "left"}));
    let decoding = Decoding {
        do_sample: Some(true),
        temperature: Some(0.7),
        top_k: Some(5),
        top_p: Some(0.9),
        repetition_penalty: Some(1.1),
        num_return_sequences: Some(2),
        seed: Some(7),
        stop_ids: vec![1, 2],
        card: false,
    };
    assert_eq!(model.decoding, decoding);
}

#[test]
fn settings_that_cannot_be() {
    for (line, said) in [
        ("generation_kwargs = { top_p = 1.5 }", "write a number above 0 and at most 1"),
        ("generation_kwargs = { temperature = 0 }", "write a number above 0"),
        ("generation_kwargs = { temperature = \"hot\" }", "takes a number"),
        ("generation_kwargs = { num_return_sequences = 4 }", "nothing is drawn"),
        ("generation_kwargs = { temprature = 0.5 }", "did you mean `temperature`?"),
        ("tokenizer_kwargs = { truncation_side = \"up\" }", "takes \"left\" or \"right\""),
        ("chat = \"yes\"", "or a boolean"),
    ] {
        let shown = Fixture::new().bad(&format!("{MODEL}{line}\n{DATASET}"));
        assert!(shown.contains(said) && shown.contains("eval.toml:5:"), "{line}: {shown}");
    }
}

#[test]
fn retrievers() {
    let retriever = |value: &str| {
        let to = format!("inferencer = \"gen\", retriever = {value}");
        let text = with("inferencer = \"gen\"", &to) + "train = { path = \"data/train.jsonl\" }\n";
        Fixture::new().good(&text).datasets[0].retriever.clone()
    };
    assert_eq!(retriever("\"ZeroRetriever\""), RetrieverKind::Zero);
    assert_eq!(
        retriever("{ type = \"fix_k\", ids = [0, 2] }"),
        RetrieverKind::FixK { ids: vec![0, 2], exclude_question: false }
    );
    assert_eq!(
        retriever("{ type = \"FixKRetriever\", fix_id_list = [4] }"),
        RetrieverKind::FixK { ids: vec![4], exclude_question: false }
    );
    assert_eq!(retriever("{ type = \"first_n\", k = 5 }"), RetrieverKind::FirstN { k: 5, exclude_question: false });
    assert_eq!(
        retriever("{ type = \"sampled\", k = 3 }"),
        RetrieverKind::Sampled { k: 3, seed: 1234, exclude_question: false }
    );
    assert_eq!(
        retriever("{ type = \"sampled\", k = 3, seed = 7 }"),
        RetrieverKind::Sampled { k: 3, seed: 7, exclude_question: false }
    );
    assert_eq!(
        retriever("{ type = \"random\", ice_num = 2 }"),
        RetrieverKind::Random { k: 2, seed: 43, exclude_question: false }
    );
    assert_eq!(retriever("{ type = \"SlidingWindowRetriever\", k = 2 }"), RetrieverKind::SlidingWindow { k: 2 });
    let bm25 = RetrieverKind::Bm25 { k: 1, columns: vec!["q".into()], exclude_question: false };
    assert_eq!(retriever("{ type = \"BM25Retriever\", ice_num = 1 }"), bm25, "the input columns, unless told");
    for (value, message) in [
        ("{ type = \"fix_k\" }", "missing key `ids` in `retriever`"),
        ("{ type = \"fix_k\", ids = [] }", "`ids` names no row"),
        ("{ type = \"fix_k\", ids = [0, -1] }", "`ids[1]` is out of range: -1"),
        ("{ type = \"fix_k\", ids = [0], fix_id_list = [0] }", "`fix_id_list` is `ids`, which is given too"),
        ("{ type = \"first_n\" }", "missing key `k` in `retriever`"),
        ("{ type = \"zero\", k = 1 }", "unknown key `k`"),
        ("{ type = \"zreo\" }", "unknown retriever `zreo`"),
        ("{ k = 1 }", "missing key `type` in `retriever`"),
        ("5", "`retriever` takes a string or a table with `type`, found an integer"),
    ] {
        wrong(&with("inferencer = \"gen\"", &format!("inferencer = \"gen\", retriever = {value}")), message);
    }
    let text = with("inferencer = \"gen\"", "inferencer = \"gen\", retriever = { type = \"first_n\", k = 1 }");
    wrong(&text, "shots are wanted and there is nothing to draw them from");
}

#[test]
fn inferencers_and_templates() {
    let infer = |value: &str| {
        let text = with("inferencer = \"gen\", prompt_template = \"{q}\"", value);
        Fixture::new().good(&text).datasets[0].clone()
    };
    let spec =
        infer("inferencer = { type = \"gen\", max_out_len = 9, stopping_criteria = [\"\\n\"] }, ice_template = \"x\"")
            .infer;
    assert_eq!(spec, InferSpec::Gen(GenSpec { max_out_len: Some(9), stop: vec!["\n".into()], ..GenSpec::default() }));
    assert_eq!(
        infer("inferencer = { type = \"GenInferencer\", stop = [\"Q\"] }, prompt_template = \"x\"").infer.mode(),
        "gen"
    );
    let options =
        infer("inferencer = \"ll\", prompt_template = \"{q}\", options = \"{choices}\", target_delimiter = \"\"");
    assert_eq!(options.infer, InferSpec::MeanLoglikelihood);
    let options_of =
        |name: &str| infer(&format!("inferencer = \"{name}\", prompt_template = \"{{q}}\", options = \"{{c}}\"")).infer;
    assert_eq!(options_of("LLInferencer"), InferSpec::MeanLoglikelihood);
    assert_eq!(options_of("loglikelihood"), InferSpec::Loglikelihood);
    assert_eq!(options.prompt.options, Some(Options::Column("choices".into())));
    assert_eq!(options.prompt.target_delimiter, "");
    assert_eq!((options.prompt.ice_token.as_str(), options.prompt.ice_separator.as_str()), ("</E>", "\n"));
    let labels = infer("inferencer = \"ppl\", ice_template = { 1 = \"b\", 0 = \"a\" }, ice_token = \"<I>\"").prompt;
    let expected = vec![("1".to_owned(), "b".to_owned()), ("0".to_owned(), "a".to_owned())];
    assert_eq!(labels.ice_template, Some(Template::Labels(expected)));
    assert_eq!(labels.ice_token, "<I>");

    for (value, message) in [
        ("inferencer = \"ppl\", prompt_template = \"{q}\"", "`ppl` has nothing to choose between"),
        ("inferencer = \"ll\", prompt_template = \"{q}\"", "`loglikelihood` has nothing to choose between"),
        ("inferencer = \"clp\", prompt_template = { a = \"x\" }", "`clp` has one prompt"),
        ("inferencer = \"gen\", prompt_template = \"x\", options = \"{c}\"", "`gen` takes no `options`"),
        (
            "inferencer = \"ppl\", prompt_template = { a = \"x\" }, options = \"{c}\"",
            "`options` beside a prompt for each label",
        ),
        ("inferencer = \"ppl\", prompt_template = {}", "`prompt_template` has no labels"),
        ("inferencer = \"ppl\", prompt_template = { a = 5 }", "`prompt_template.a` takes a string, found an integer"),
        ("inferencer = \"ppl\", prompt_template = \"x\", options = \"A, B\"", "`options` cannot be `A, B`"),
        ("inferencer = \"ppl\"", "missing key `prompt_template` in `infer_cfg`"),
        ("prompt_template = \"x\"", "missing key `inferencer` in `infer_cfg`"),
        ("inferencer = { type = \"gen\", stop = [\"\"] }, prompt_template = \"x\"", "`stop` holds an empty string"),
        ("inferencer = \"gen\", prompt_template = \"x\", ice_token = \"\"", "`ice_token` is empty"),
    ] {
        wrong(&with("inferencer = \"gen\", prompt_template = \"{q}\"", value), message);
    }
}

#[test]
fn readers_and_ranges() {
    let reader = |value: &str| Fixture::new().good(&with("input_columns = [\"q\"]", value)).datasets[0].clone();
    assert_eq!(reader("input_columns = \"goal  sol1 sol2\"").input_columns, ["goal", "sol1", "sol2"]);
    let range = |value: &str| reader(&format!("input_columns = [\"q\"], test_range = {value}")).test_range;
    assert_eq!(range("\"[:100]\""), RangeSpec::Slices("[:100]".into()));
    assert_eq!(range("\"[:50][0:8]\""), RangeSpec::Slices("[:50][0:8]".into()));
    assert_eq!(range("\"\""), RangeSpec::All);
    assert_eq!(range("25"), RangeSpec::Count(25));
    assert_eq!(range("0.25"), RangeSpec::Fraction(0.25));
    for (value, message) in [
        ("\"100\"", "`test_range` cannot be `100`"),
        ("1.5", "`test_range` is out of range: 1.5"),
        ("[1]", "`test_range` takes a slice in a string or a number, found an array"),
    ] {
        wrong(&with("output_column", &format!("test_range = {value}, output_column")), message);
    }
    wrong(&with("[\"q\"]", "[]"), "`input_columns` names no column");
    wrong(&with(", output_column = \"a\"", ""), "missing key `output_column` in `reader_cfg`");
}

#[test]
fn files_are_looked_for_beside_the_file_and_in_data_dir() {
    let fixture = Fixture::new();
    fixture.write("elsewhere/sub/only.jsonl", "{}");
    fixture.write("elsewhere/data/test.jsonl", "{}");
    fixture.write("elsewhere/labels.lst", "0\n");
    let split = "{ path = \"sub/only.jsonl\", columns = { label = { lines_of = \"labels.lst\", as = \"int\" } } }";
    let text = format!("data_dir = \"elsewhere\"\n{}train = {split}\n", with("", ""));
    let config = fixture.good(&text);
    assert_eq!(config.datasets[0].test.files[0].path, fixture.path("data/test.jsonl"), "beside the file comes first");
    let train = config.datasets[0].train.clone().unwrap();
    assert_eq!(train.files[0].path, fixture.path("elsewhere/sub/only.jsonl"));
    let labels = Expression::LinesOf { file: fixture.path("elsewhere/labels.lst") };
    assert_eq!((train.columns[0].name.as_str(), &train.columns[0].expression), ("label", &labels));

    let places =
        fixture.places(&with("test.jsonl\"", "gone.jsonl\", columns = { l = { lines_of = \"x\", as = \"bool\" } }"));
    assert_eq!(
        places,
        [
            "eval.toml:8:17: no file `data/gone.jsonl`",
            "eval.toml:8:65: no file `x`",
            "eval.toml:8:75: unknown column type `bool`",
        ]
    );
    wrong(
        &with("data/test.jsonl\"", "data/test.jsonl\", columns = { l = { lines_of = \"data\" } }"),
        "`data` is a directory",
    );
}

#[test]
fn model_directories_are_looked_into() {
    let fixture = Fixture::new();
    fixture.write("half/config.json", "{}");
    fixture.write("half/model.safetensors", "");
    let text = MODEL.replace("models/tiny", "half") + DATASET;
    assert_eq!(fixture.places(&text), ["eval.toml:4:8: `half` holds no tokenizer.json"]);
    let text = MODEL.replace("models/tiny\"", "half\"\ntokenizer_path = \"models/tiny\"") + DATASET;
    assert_eq!(fixture.good(&text).models[0].tokenizer_path, fixture.path("models/tiny"));
    let text = MODEL.replace("models/tiny\"", "data\"\ntokenizer_path = \"half\"") + DATASET;
    assert_eq!(
        fixture.places(&text),
        ["eval.toml:4:8: `data` holds no config.json", "eval.toml:5:18: `half` holds no tokenizer.json"]
    );
}

#[test]
fn evaluators_and_postprocessors() {
    let eval = |value: &str| Fixture::new().good(&with("evaluator = \"em\"", value)).datasets[0].eval.clone();
    let spec = eval(
        "evaluator = { type = \"Gsm8kEvaluator\" }, pred_postprocessor = [\"gsm8k\", { type = \"general\" }], \
                     dataset_postprocessor = { type = \"gsm8k_dataset_postprocess\" }",
    );
    assert_eq!(spec.pred_postprocessors, [Postprocessor::Gsm8k, Postprocessor::General]);
    assert_eq!(spec.dataset_postprocessors, [Postprocessor::Gsm8kDataset]);
    let option = eval(
        "evaluator = \"opencompass.openicl.AccEvaluator\", \
                      pred_postprocessor = { type = \"first_option_postprocess\", options = \"ABCD\" }, k = [1, 4]",
    );
    assert_eq!((option.evaluator, option.k), (EvaluatorSpec::Acc, vec![1, 4]));
    assert_eq!(option.pred_postprocessors[0].apply("so the answer is C.").unwrap(), "C");
    let scored = |inferencer: &str, evaluator: &str| {
        let text = with("evaluator = \"em\"", &format!("evaluator = {evaluator}"));
        let text = text.replace("\"gen\"", &format!("\"{inferencer}\""));
        let text = match inferencer {
            "loglikelihood" => text.replace("\"{q}\"", "{ a = \"{q} a\", b = \"{q} b\" }"),
            _ => text,
        };
        Fixture::new().good(&text).datasets[0].eval.evaluator.clone()
    };
    let choice = scored("loglikelihood", "{ type = \"multiple_choice\", metrics = [\"acc\", \"acc_bytes\"] }");
    assert_eq!(scored("clp", "\"AUCROCEvaluator\""), EvaluatorSpec::AucRoc);
    assert_eq!(scored("ppl_only", "\"AveragePPLEvaluator\""), EvaluatorSpec::AveragePpl);
    assert_eq!(scored("rolling", "\"BPCEvaluator\""), EvaluatorSpec::Bpc);
    assert_eq!(choice, EvaluatorSpec::MultipleChoice { metrics: vec![ChoiceMetric::Acc, ChoiceMetric::AccBytes] });
    wrong(&with("\"em\"", "\"em\", pred_postprocessor = { type = \"last_option\" }"), "`last_option` needs `options`");
    let of_model = Fixture::new().good(&format!("{MODEL}pred_postprocessor = \"rm_<think>_before_eval\"\n{DATASET}"));
    assert_eq!(of_model.models[0].pred_postprocessors.len(), 1);
    wrong(&format!("{MODEL}pred_postprocessor = \"thinking\"\n{DATASET}"), "unknown pred_postprocessor `thinking`");
    let filtered = eval(
        "evaluator = { type = \"exact_match\", ignore_case = true }, sc_size = 3, filters = [\
                     { name = \"strict\", steps = [{ type = \"regex\", group_select = -1 }, \"take_first\"] },\
                     { name = \"vote\", filter = [\"lowercase\", { function = \"majority_vote\" }] }]",
    );
    let names: Vec<_> =
        filtered.filters.iter().map(|pipeline| (pipeline.name.as_str(), pipeline.steps.len())).collect();
    assert_eq!((names, filtered.majority_vote), (vec![("strict", 2), ("vote", 2)], true));
    for class in [
        "LongBenchF1Evaluator",
        "GaokaoBenchEvaluator_single_choice",
        "BBHEvaluator_mcq",
        "MGSM_Evaluator",
        "IFEvaluator",
        "JiebaRougeEvaluator",
        "opencompass.datasets.TriviaQAEvaluator",
        "NQEvaluator",
        "CrowspairsEvaluator",
        "LambadaEvaluator",
        "EDAccEvaluator",
        "TheoremQAEvaluatorV3",
        "DropOpenAIEvaluator",
    ] {
        eval(&format!("evaluator = \"{class}\""));
    }
    wrong(
        &with("\"em\"", "\"em\", filters = [{ name = \"x\", steps = [\"take_frist\"] }]"),
        "did you mean `take_first`?",
    );
    wrong(&with("\"em\"", "\"akk\""), "unknown evaluator `akk`");
    wrong(&with("\"em\"", "\"em\", pred_postprocessor = \"gms8k\""), "did you mean `gsm8k`?");
}

#[test]
fn abbrs_do_not_leave_their_folder() {
    for abbr in ["../m", "a/b", ".m", ""] {
        wrong(&(MODEL.replace("\"m\"", &format!("\"{abbr}\"")) + DATASET), "error: `abbr` ");
    }
}

#[test]
fn addresses_and_state() {
    let fixture = Fixture::new();
    let master = |line: &str| fixture.good(&format!("[master]\n{line}\n{MODEL}{DATASET}"));
    assert_eq!(master("listen = \"localhost:50051\"").listen.to_string(), "127.0.0.1:50051");
    assert_eq!(master("listen = \"[::1]:0\"\nadvertise = \"\"\nhttp = \"off\"\nstore = \"embedded\"").listen.port(), 0);
    assert_eq!(master("http = \"off\"").http, None);
    assert_eq!(master("http = \"localhost:8080\"").http.unwrap().address.to_string(), "127.0.0.1:8080");
    let open = master("http = \"0.0.0.0:8080\"\nhttp_token_file = \"word\"").http.unwrap();
    assert_eq!(open.token_file, Some(fixture.path("word")));
    let tls = master("http = \"localhost:8443\"\nhttp_tls = { cert = \"c.pem\", key = \"k.pem\" }")
        .http
        .unwrap()
        .tls
        .unwrap();
    assert_eq!((tls.cert, tls.key), (fixture.path("c.pem"), fixture.path("k.pem")));
    wrong(
        &format!("[master]\nhttp = \"localhost:80\"\nhttp_tls = {{ cert = \"c.pem\" }}\n{MODEL}{DATASET}"),
        "missing key `key` in [master.http_tls]",
    );
    wrong(&format!("[master]\nhttp = \"0.0.0.0:80\"\n{MODEL}{DATASET}"), "is open to other hosts");
    wrong(&format!("[master]\nhttp = \"yes\"\n{MODEL}{DATASET}"), "`http` cannot be `yes`");
    assert_eq!(master("state_dir = \"~/s\"").state_dir, fixture.path("home/s"));
    assert_eq!(master("state_dir = \"s\"").state_dir, fixture.path("s"));
    wrong(&format!("[master]\nlisten = \"50051\"\n{MODEL}{DATASET}"), "`listen` cannot be `50051`");
}

#[test]
fn where_workers_of_other_hosts_find_a_master() {
    let fixture = Fixture::new();
    let with = |line: &str, runner: &str| {
        fixture.good(&format!("[master]\n{line}\n{MODEL}{DATASET}[infer.runner]\ntype = \"{runner}\"\n"))
    };
    assert_eq!(with("", "local").listen.to_string(), "127.0.0.1:0");
    assert_eq!(with("", "none").listen.to_string(), "0.0.0.0:50051");
    assert_eq!(with("listen = \"10.0.0.1:7\"", "local").listen.to_string(), "10.0.0.1:7");
    assert_eq!(with("", "none").advertise, None);
    let told = |line: &str| {
        let advertised = with(line, "none").advertise.unwrap();
        (advertised.host, advertised.port)
    };
    assert_eq!(told("advertise = \"head.cluster\""), ("head.cluster".to_owned(), None));
    assert_eq!(told("advertise = \"gate:443\""), ("gate".to_owned(), Some(443)));
    assert_eq!(told("advertise = \"[fd00::1]:443\""), ("[fd00::1]".to_owned(), Some(443)));
    for wrong_name in ["http://gate", "gate:0", "a b", ":50051", "fd00::1", "gate:port"] {
        let text = format!("[master]\nadvertise = \"{wrong_name}\"\n{MODEL}{DATASET}");
        wrong(&text, &format!("`advertise` cannot be `{wrong_name}`"));
    }
    let authority = with("", "none").authority;
    assert_eq!(authority.key_file, fixture.path("home/.local/state/compass/authority.key"));
    assert_eq!(authority.certificate_seconds, 24 * 3_600);
    let authority = with("state_dir = \"s\"\nkey_file = \"k\"\ncertificate_ttl = \"10m\"", "none").authority;
    assert_eq!((authority.state_dir, authority.key_file), (fixture.path("s"), fixture.path("k")));
    assert_eq!(authority.certificate_seconds, 600);
    for short in ["4s", "1", "soon"] {
        let text = format!("[master]\ncertificate_ttl = \"{short}\"\n{MODEL}{DATASET}");
        wrong(&text, &format!("`certificate_ttl` cannot be `{short}`"));
    }
}

#[test]
fn the_authority_is_told_by_the_master_table_alone() {
    let fixture = Fixture::new();
    let load = |text: &str| {
        fixture.write("a.toml", text);
        crate::load_authority(Some(&fixture.path("a.toml")), Some(fixture.path("home")))
    };
    let authority = load("colour = 1\n[master]\nstate_dir = \"s\"\nlisten = \"0.0.0.0:1\"\n").unwrap();
    assert_eq!(authority.state_dir, fixture.path("s"));
    assert!(load("[master]\nstat_dir = \"s\"\n").unwrap_err().to_string().contains("did you mean `state_dir`?"));
    let home = crate::load_authority(None, Some(fixture.path("home"))).unwrap();
    assert_eq!(home.state_dir, fixture.path("home/.local/state/compass"));
}

#[test]
fn lists_of_tables_and_selections() {
    wrong(&format!("{}{DATASET}", MODEL.replace("[[model]]", "[model]")), "write `[[model]]` with two brackets");
    wrong(&format!("models = []\n{MODEL}{DATASET}"), "`models` names no model");
    wrong(&format!("models = \"m\"\n{MODEL}{DATASET}"), "write `models = [\"m\"]`");
    wrong(&format!("models = [\"m\", \"m\"]\n{MODEL}{DATASET}"), "model `m` is named twice");
    wrong(MODEL, "no data set is defined");
    wrong(&format!("model = []\n{DATASET}"), "no model is defined");
}

#[test]
fn names_must_be_tellable_and_folders_possible() {
    for (abbr, said) in [(" x", "begins or ends with a space"), ("a\\u200bb", "holds an invisible character")] {
        let fixture = Fixture::new();
        let text = MODEL.replace("abbr = \"m\"", &format!("abbr = \"{abbr}\"")) + DATASET;
        assert_eq!(fixture.places(&text), [format!("eval.toml:2:8: `abbr` {said}")]);
    }
    let fixture = Fixture::new();
    let twin = MODEL.replace("abbr = \"m\"", "abbr = \"M\"");
    let twins = format!("{MODEL}{twin}{DATASET}");
    let places = fixture.places(&twins);
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(places[0].ends_with("`M` and `m` differ by case alone: their results would be one file"), "{places:?}");
    let places = fixture.places(&format!("work_dir = \"data/test.jsonl/out\"\n{MODEL}{DATASET}"));
    assert!(places[0].starts_with("eval.toml:1:12: `work_dir` cannot be a folder: `"), "{places:?}");
    fixture.write("bare/config.json", "{}");
    let places = fixture.places(&(MODEL.replace("models/tiny", "bare") + DATASET));
    assert_eq!(
        places,
        ["eval.toml:4:8: `bare` holds neither model.safetensors nor pytorch_model.bin, whole or in shards"]
    );
}

#[test]
fn a_store_in_etcd_and_how_to_get_in() {
    let fixture = Fixture::new();
    ["secrets/password", "ca.pem", "me.pem", "me.key"].iter().for_each(|file| fixture.write(file, "x"));
    let config = fixture.good(&format!(
        "[master]\nstore = \"etcd://h1:2379,h2/team\"\n[master.etcd]\nuser = \"u\"\npassword_file = \"secrets/password\"\n\
         ca = \"ca.pem\"\ncert = \"me.pem\"\nkey = \"me.key\"\n{MODEL}{DATASET}"
    ));
    let StoreConfig::Etcd(etcd) = config.store else { panic!("{:?}", config.store) };
    assert_eq!((etcd.endpoints, etcd.prefix.as_str()), (vec!["h1:2379".to_owned(), "h2:2379".to_owned()], "team"));
    assert_eq!((etcd.user.as_deref(), etcd.password_file), (Some("u"), Some(fixture.path("secrets/password"))));
    assert_eq!((etcd.ca, etcd.key), (Some(fixture.path("ca.pem")), Some(fixture.path("me.key"))));
    assert_eq!(fixture.good(&format!("{MODEL}{DATASET}")).store, StoreConfig::Embedded);

    let master = |lines: &str| format!("[master]\n{lines}\n{MODEL}{DATASET}");
    wrong(&master("store = \"etcd://\""), "`store` names no host and port: ``");
    wrong(&master("store = \"etcd://h:port\""), "`store` names no host and port: `h:port`");
    wrong(&master("store = \"etcd://h,h:2379\""), "`store` names h:2379 twice");
    let access = |line: &str| master(&format!("store = \"etcd://h\"\n[master.etcd]\n{line}"));
    wrong(&access("user = \"u\""), "`user` in [master.etcd] without `password_file`");
    wrong(&access("ca = \"gone.pem\""), "gone.pem`");
    wrong(&master("[master.etcd]\nca = \"eval.toml\""), "[master.etcd] without a store in etcd");
    wrong(&access("password = \"p\""), "unknown key `password`");
}

#[test]
fn how_long_an_engine_may_compute_nothing() {
    let runner = |line: &str| format!("{MODEL}{DATASET}[infer.runner]\n{line}\n");
    let read = |line: &str| Fixture::new().good(&runner(line)).infer.runner.engine_timeout.as_secs();
    for (line, seconds) in [("retry = 2", 1800), ("engine_timeout = \"90s\"", 90), ("engine_timeout = \"2h\"", 7200)] {
        assert_eq!(read(line), seconds, "{line}");
    }
    for written in ["4s", "31d", "soon"] {
        let message = format!("`engine_timeout` cannot be `{written}`");
        wrong(&runner(&format!("engine_timeout = \"{written}\"")), &message);
    }
}
