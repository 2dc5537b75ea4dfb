//! `[[pool]]`, `pools` of a model, and the runners of Slurm.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::SlurmFlags;
use compass_settings::digest;
use compass_settings::{RunnerKind, SlurmConfig};

const POOLS: &str = "
[[pool]]
name = \"s\"
launcher = { type = \"slurm\", partition = \"llmeval\", extra_command = [\"--exclusive\"] }
labels = [\"big\"]
max_gpus = 64
paths = { \"models/\" = \"/mnt/models/\", \"models/llama/\" = \"/fast/\" }
environment = { HF_HUB_OFFLINE = \"1\" }
[[pool]]
name = \"here\"
launcher = \"local\"
max_num_workers = 2
offline = \"continue\"
";

#[test]
fn pools_are_read_whole() {
    let model = format!("{MODEL}pools = [\"big\"]\n");
    let config = Fixture::new().good(&format!("{model}{DATASET}{POOLS}"));
    let [s, here] = &config.pools[..] else { panic!("{:?}", config.pools) };
    let slurm = SlurmConfig {
        partition: Some("llmeval".into()),
        extra_command: vec!["--exclusive".into()],
        ..SlurmConfig::default()
    };
    assert_eq!((&s.runner, s.max_gpus, s.offline_continue), (&RunnerKind::Slurm(slurm), 64, false));
    assert_eq!((&here.runner, here.max_num_workers, here.offline_continue), (&RunnerKind::Local, Some(2), true));
    let fixture_path = |name: &str| config.models[0].path.parent().unwrap().join(name).display().to_string();
    assert_eq!(s.map_path(&fixture_path("llama/7b")).as_deref(), Some("/fast/7b"), "relative to the file");
    assert_eq!(s.map_path(&fixture_path("gemma")).as_deref(), Some("/mnt/models/gemma"));
    assert_eq!(s.map_path("/elsewhere"), None);
    let wanted = &config.models[0].pools;
    assert_eq!((s.takes(wanted), here.takes(wanted), here.takes(&[])), (true, false, true));
}

#[test]
fn where_a_model_runs_is_no_part_of_what_it_computes() {
    let fixture = Fixture::new();
    let plain = fixture.good(&format!("{MODEL}{DATASET}"));
    let pooled = fixture.good(&format!("{MODEL}pools = [\"s\"]\n{DATASET}{POOLS}"));
    assert_eq!(digest(&plain), digest(&pooled));
}

#[test]
fn what_a_pool_has_under_another_name_need_not_be_here() {
    let pool = "[[pool]]\nname = \"c\"\nlauncher = \"none\"\npaths = { \"w:s3://b/x/\" = \"/cpfs/x/\" }\n";
    let far = MODEL.replace("models/tiny", "w:s3://b/x/7b");
    let fixture = Fixture::new();
    let config = fixture.good(&format!("{far}{DATASET}{pool}"));
    assert_eq!(config.models[0].path.to_str(), Some("w:s3://b/x/7b"));
    let shown = fixture.bad(&format!("{}{DATASET}{pool}", MODEL.replace("models/tiny", "w:s3://b/y/7b")));
    assert!(shown.contains("in an object store, from which nothing is fetched here"), "{shown}");
}

#[test]
fn what_is_wrong_with_pools_is_said() {
    let fixture = Fixture::new();
    for (text, message) in [
        (format!("{MODEL}{DATASET}[[pool]]\nname = \"p\"\n"), "missing key `launcher` in [[pool]]"),
        (format!("{MODEL}{DATASET}[[pool]]\nname = \"a b\"\nlauncher = \"local\"\n"), "no name of a pool: `a b`"),
        (format!("{MODEL}{DATASET}{POOLS}[[pool]]\nname = \"s\"\nlauncher = \"local\"\n"), "`s`"),
        (format!("{MODEL}pools = [\"sss\"]\n{DATASET}{POOLS}"), "wants the pool `sss`, which is not defined"),
        (
            format!(
                "{MODEL}{DATASET}[[pool]]\nname = \"p\"\nlauncher = \"local\"\nmin_num_workers = 3\nmax_num_workers = 2\n"
            ),
            "`min_num_workers = 3` is more than `max_num_workers = 2`",
        ),
        (
            format!("{MODEL}{DATASET}[[pool]]\nname = \"p\"\nlauncher = \"local\"\noffline = \"wait\"\n"),
            "unknown offline `wait`",
        ),
    ] {
        let shown = fixture.bad(&text);
        assert!(shown.contains(message), "{shown}");
    }
    // Numbers of the runner bound the whole job, and its type gives way, as that of an included file must.
    let mut fixture = Fixture::new();
    let text = format!("{MODEL}{DATASET}{POOLS}[infer.runner]\ntype = \"local\"\nmax_gpus = 8\n");
    fixture.good(&text);
    fixture.flags.slurm.asked = true;
    assert!(fixture.bad(&text).contains("`--slurm` is for the workers of a runner"));
}

#[test]
fn a_flag_that_reaches_no_launcher_is_an_error() {
    let mut fixture = Fixture::new();
    let job = |runner: &str| format!("{MODEL}{DATASET}{runner}");
    let slurm = "[infer.runner]\ntype = \"slurm\"\n";
    fixture.flags.slurm.quotatype = Some("auto".into());
    fixture.good(&job(slurm));
    fixture.good(&job("[eval.runner]\ntype = \"slurm\"\n"));
    let shown = fixture.bad(&job(""));
    assert!(
        shown.contains("`-q` has no effect: the runner's type is `local`") && shown.contains("add --slurm"),
        "{shown}"
    );
    assert!(fixture.bad(&job(POOLS)).contains("`-q` is for the workers of a runner"));
    fixture.flags.slurm.quotatype = None;
    fixture.flags.dlc.aliyun_cfg = Some("aliyun.toml".into());
    let shown = fixture.bad(&job(slurm));
    assert!(shown.contains("`--aliyun-cfg` has no effect: the runner's type is `slurm`"), "{shown}");
}

#[test]
fn the_flags_of_slurm_go_over_both_runners() {
    let mut fixture = Fixture::new();
    let text =
        format!("{MODEL}{DATASET}[infer.runner]\ntype = \"SlurmSequentialRunner\"\npartition = \"a\"\nqos = \"low\"\n");
    let slurm =
        SlurmFlags { asked: true, partition: Some("llmeval".into()), quotatype: Some("auto".into()), qos: None };
    (fixture.flags.slurm, fixture.flags.max_gpus) = (slurm, Some(4));
    let config = fixture.good(&text);
    for (runner, qos) in [(&config.infer.runner, Some("low")), (&config.eval.runner, None)] {
        let RunnerKind::Slurm(slurm) = &runner.kind else { panic!("{runner:?}") };
        let seen = (slurm.partition.as_deref(), slurm.quotatype.as_deref(), slurm.qos.as_deref());
        assert_eq!((seen, runner.max_gpus), ((Some("llmeval"), Some("auto"), qos), 4));
    }
}
