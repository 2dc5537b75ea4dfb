//! The settings of DLC jobs, as teams have them: TOML, and Python's plain values.

use super::fixture::Fixture;
use crate::read::stages::aliyun::read;
use crate::report::check::Check;
use compass_settings::{AliyunConfig, DlcCommand, JobEnvironment};
use std::path::PathBuf;

fn load(fixture: &Fixture, name: &str, text: &str) -> (Option<AliyunConfig>, String) {
    fixture.write(name, text);
    let mut check = Check::new(Some(fixture.path("home")));
    let config = read(&mut check, None, Some(&fixture.path(name)), None);
    let shown = match check.finish() {
        Ok(notes) => notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(errors) => errors.to_string(),
    };
    (
        config,
        shown
            .replace(&format!("{}/", fixture.path("").display()), "")
            .replace(&format!("{}", fixture.path("").display()), ""),
    )
}

fn good(name: &str, text: &str) -> AliyunConfig {
    let fixture = Fixture::new();
    fixture.write("dlc.config", "");
    let (config, shown) = load(&fixture, name, text);
    let config = config.unwrap_or_else(|| panic!("{shown}"));
    // Every fixture has a folder of its own.
    let relative = config.dlc_config_path.and_then(|path| path.strip_prefix(fixture.path("")).map(PathBuf::from).ok());
    AliyunConfig { dlc_config_path: relative, ..config }
}

fn bad(name: &str, text: &str) -> String {
    let (_, shown) = load(&Fixture::new(), name, text);
    assert!(shown.contains("error: "), "{text} was accepted: {shown}");
    shown
}

const FULL: &str = r#"
bashrc_path = "/cpfs01/user/me/.bashrc"
conda_env_name = "eval"
dlc_config_path = "dlc.config"
workspace_id = "ws1"
resource_id = "quota1"
worker_image = "registry/pai:1.0"
data_sources = ["d-1", "d-2"]
huggingface_cache = "/cpfs01/hf"
torch_cache = "/cpfs01/torch"
hf_offline = false
http_proxy = "http://proxy:3128"
hf_endpoint = "https://mirror"
extra_envs = ["A=1", "LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH"]
priority = 5
worker_cpu = 16
worker_memory = 256
dlc_job_cmd = "create"
dlc_sleep_time = 3
pre_cmd = "ulimit -n 65536"
"#;

#[test]
fn every_key_of_the_peer() {
    let config = good("aliyun.toml", FULL);
    let name = "eval".to_owned();
    assert_eq!(config.environment, JobEnvironment::Conda { bashrc: "/cpfs01/user/me/.bashrc".into(), name });
    assert!(config.dlc_config_path.as_ref().unwrap().ends_with("dlc.config"));
    assert_eq!((config.workspace_id.as_str(), config.resource_id.as_str()), ("ws1", "quota1"));
    assert_eq!((config.priority, config.worker_cpu, config.worker_memory), (5, 16, 256));
    assert_eq!(config.data_sources, ["d-1", "d-2"]);
    assert_eq!((config.job_command, config.sleep_seconds, config.hf_offline), (DlcCommand::Create, 3, false));
    assert_eq!(config.extra_envs[1], ("LD_LIBRARY_PATH".to_owned(), "/x:$LD_LIBRARY_PATH".to_owned()));
    assert_eq!(config.pre_cmd.as_deref(), Some("ulimit -n 65536"));
}

#[test]
fn what_is_left_out_is_as_the_peer_has_it() {
    let config = good("aliyun.toml", "workspace_id = 'w'\nworker_image = 'i'\n");
    assert_eq!((config.priority, config.worker_cpu, config.worker_memory, config.sleep_seconds), (1, 12, 192, 10));
    assert_eq!(
        (config.environment, config.hf_offline, config.job_command),
        (JobEnvironment::Image, true, DlcCommand::Submit)
    );
    assert!(config.data_sources.is_empty() && config.dlc_config_path.is_none());
}

#[test]
fn a_python_file_is_read_as_it_is() {
    let assigned = FULL.replace("false", "False");
    assert_eq!(good("aliyun.cfg", &assigned), good("aliyun.toml", FULL), "assignments");
    let keywords: String =
        FULL.replace("false", "False").lines().skip(1).map(|line| format!("    {line},  # why\n")).collect();
    let whole = format!(
        "import os\nfrom opencompass.runners import R\n\nx = os.getenv('HOME')\naliyun_cfg = dict(\n{keywords})\ninfer = dict(runner=dict(type=R))\n"
    );
    assert_eq!(good("eval_a.py", &whole), good("aliyun.toml", FULL), "a dict among other things");
    let named = "workspace_id = '5360'\nsources = ('d-1,' 'd-2')\nimage = 'a' \\\n  'b'\naliyun_cfg = {\n 'workspace_id': workspace_id, \
                 'worker_image': image, 'data_sources': sources, 'priority': None,\n}\n";
    let config = good("aliyun.py", named);
    assert_eq!((config.workspace_id.as_str(), config.worker_image.as_str()), ("5360", "ab"));
    assert_eq!(config.data_sources, ["d-1", "d-2"]);
    let json = r#"{"workspace_id": "w", "worker_image": "i", "hf_offline": false, "conda_env_name": null}"#;
    assert!(!good("aliyun.json", json).hf_offline);
}

#[test]
fn what_python_says_is_said_at_its_place() {
    for (text, place, what) in [
        ("workspace_id = f'{x}'\nworker_image = 'i'\n", "a.py:1:19", "NameError: name 'x' is not defined"),
        ("workspace_id = os.environ['W']\n", "a.py:1:16", "NameError: name 'os' is not defined"),
        ("workspace_id = later\nlater = 'w'\n", "a.py:1:16", "NameError: name 'later' is not defined"),
        ("aliyun_cfg = dict(workspace_id=f('w'))\n", "a.py:1:32", "NameError: name 'f' is not defined"),
        ("aliyun_cfg = dict(workspace_id='w'\n", "a.py:1:18", "SyntaxError: '(' was never closed"),
        ("aliyun_cfg = dict(**other)\n", "a.py:1:21", "NameError: name 'other' is not defined"),
        ("aliyun_cfg = 3\n", "a.py:1:14", "`aliyun_cfg` is not a dict"),
        ("aliyun_cfg = dict(workspace_id='w', worker_imag='i')\n", "a.py:1:37", "unknown key `worker_imag`"),
    ] {
        let shown = bad("a.py", text);
        assert!(shown.contains(what) && shown.contains(&format!("--> {place}")), "{text}\n{shown}");
    }
    for (text, what) in [
        ("{\"workspace_id\": \"w\",}", "is not JSON: trailing comma at line 1 column 22"),
        ("[1]", "this is not an object"),
        ("{\"workspace_id\": 3, \"worker_image\": \"i\"}", "`workspace_id` takes a string"),
    ] {
        let shown = bad("a.json", text);
        assert!(shown.contains(what) && shown.contains("a.json"), "{text}\n{shown}");
    }
}

#[test]
fn what_is_computed_is_read_as_it_comes_out() {
    let text = "team = 'w'\naliyun_cfg = dict(workspace_id=team + '1', worker_image='/'.join(['r', 'i']), \
                data_sources=[f'd-{n}' for n in range(2)])\n";
    let config = good("a.py", text);
    assert_eq!((config.workspace_id.as_str(), config.worker_image.as_str()), ("w1", "r/i"));
    assert_eq!(config.data_sources, ["d-0", "d-1"]);
}

#[test]
fn wrong_settings_are_all_shown_with_their_remedies() {
    let shown = bad(
        "a.toml",
        "bashrc_path = \"/x\"\npriority = 10\ndlc_job_cmd = \"run\"\ndata_sources = [\"a b\"]\nextra_envs = [\"1A=x\"]\n\
         dlc_config_path = \"none\"\nworker_imag = \"i\"\nhf_offline = 1\n",
    );
    for part in [
        "missing key `workspace_id`",
        "missing key `worker_image`",
        "`bashrc_path` wants `conda_env_name`",
        "`priority` is out of range: 10",
        "unknown `dlc_job_cmd` `run`",
        "`a b` is not an id of a data source",
        "this is not a variable of `extra_envs`",
        "no file `none`",
        "`hf_offline` takes a boolean",
    ] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    let unknown = bad("a.toml", "workspace_id = 'w'\nworker_image = 'i'\nworker_imag = 'j'\n");
    assert!(unknown.contains("did you mean `worker_image`"), "{unknown}");
    assert!(bad("a.toml", "priority = 1 x\n").contains("--> a.toml:1:"));
    let (none, shown) = load(&Fixture::new(), "a.toml", "");
    assert!(none.is_none() && shown.contains("missing key `workspace_id`"), "{shown}");
}

#[test]
fn secrets_are_refused_and_never_shown() {
    let rest = "\nworkspace_id = 'w'\nworker_image = 'i'\n";
    for line in [
        "http_proxy = 'http://me:hunter2@proxy:3128'",
        "extra_envs = ['HF_TOKEN=hunter2']",
        "extra_envs = ['AWS_SECRET_ACCESS_KEY=hunter2']",
    ] {
        let shown = bad("a.toml", &format!("{line}{rest}"));
        assert!(shown.contains("env_file") && shown.contains("a.toml:1") && !shown.contains("hunter2"), "{shown}");
    }
    for line in [
        "extra_envs = ['HF_TOKEN_PATH=/home/me/token']",
        "extra_envs = ['HF_TOKEN=$SITE_TOKEN']",
        "extra_envs = ['TOKENIZERS_PARALLELISM=false']",
    ] {
        good("a.toml", &format!("{line}{rest}"));
    }
}

#[test]
fn without_a_file_the_usual_one_is_taken() {
    let fixture = Fixture::new();
    let usual = |fixture: &Fixture| {
        let mut check = Check::new(Some(fixture.path("home")));
        let config = read(&mut check, None, None, None);
        (
            config.map(|config| config.workspace_id),
            check.finish().err().map(|errors| errors.to_string()).unwrap_or_default(),
        )
    };
    let (none, shown) = usual(&fixture);
    assert!(none.is_none() && shown.contains("~/.aliyun.cfg") && shown.contains("--aliyun-cfg FILE"), "{shown}");
    fixture.write("home/.aliyun.cfg", "workspace_id = 'w'\nworker_image = \"i\"\nhf_offline = True\n");
    assert_eq!(usual(&fixture), (Some("w".into()), String::new()));
}

#[test]
fn the_example_that_ships_is_right() {
    let example = include_str!("../../../../deploy/aliyun.example.toml");
    assert_eq!(good("aliyun.toml", example).data_sources.len(), 2);
    let uncommented = example.replace("\n# ", "\n").replacen("~/.dlc/config", "dlc.config", 1);
    let uncommented =
        uncommented.lines().filter(|line| line.contains('=')).fold(String::new(), |all, line| all + line + "\n");
    let config = good("aliyun.toml", &uncommented);
    assert!(config.token_file.is_some() && config.pre_cmd.is_some(), "{config:?}");
}
