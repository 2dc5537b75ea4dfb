//! From the configuration to the pools of workers of a stage.

use super::model_placement::ModelPlacement;
use super::worker_endpoint::WorkerEndpoint;
use super::worker_source::StageRegistration;
use compass_common::gpu_files::GpuFiles;
use compass_common::host::cores;
use compass_common::status_output::print_status;
use compass_launch::{
    Autoscaler, Belonging, Bounds, CommandLauncher, DlcLauncher, DlcPlace, LaunchError, Launcher, LocalLauncher,
    MasterAddresses, Pool, PoolSpec, Programs, SlurmLauncher, SlurmOrder, WorkerCommand, find_worker, sees_gpu,
    visible_gpus,
};
use compass_plan::DeviceRequest;
use compass_rpc::PoolTerms;
use compass_run_folder::RunFolder;
use compass_settings::{Config, ModelConfig, PoolConfig, RunnerKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// Jobs of a remote launcher when nothing bounds them: as many as OpenCompass has by default.
const UNBOUNDED: u32 = 1;

/// Options by which the workers of a stage are launched.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchOptions<'o> {
    pub debug: bool,
    pub stage: &'o str,
    pub programs: Programs,
    /// Folder for its logs; `None` when nothing is started, and for a master that stays.
    pub folder: Option<&'o RunFolder>,
    /// Set if commands name the logs of a run folder that is not made: what is shown and not started.
    pub(super) shows_logs_of_run: bool,
    /// Folder in which this host writes the logs of workers that belong to no run.
    pub(super) logs_here: Option<&'o Path>,
    /// The file with the token that workers need to join; `None` where they need none.
    pub token_file: Option<&'o Path>,
    /// The plan's digest, short; of a master that stays, that of its authority.
    pub job: &'o str,
    /// Addresses of other masters that may lead after this one.
    pub others: Option<&'o watch::Receiver<Vec<String>>>,
}

/// Variable in which the worker's command line looks for the path of a token file.
const TOKEN_FILE: &str = "COMPASS_TOKEN_FILE";

/// GPUs that a replica takes: the most that one of the models wants.
fn gpus_of_a_replica(models: &[&ModelConfig]) -> u32 {
    models.iter().map(|model| model.num_gpus).max().unwrap_or(0)
}

/// Replica slots of the whole job as far as `max_gpus` allows, when a model takes a GPU.
fn gpu_slots(config: &Config) -> Option<u32> {
    let runner = &config.infer.runner;
    let takes = gpus_of_a_replica(&config.models.iter().collect::<Vec<_>>());
    (runner.max_gpus > 0 && takes > 0)
        .then(|| (runner.max_gpus / takes).saturating_mul(runner.max_workers_per_gpu.max(1)))
}

/// Replica slots of an agent on this host: what its GPUs give, or else its cores, within the bounds.
fn local_slots(config: &Config, models: &[&ModelConfig], most: Option<u32>) -> u32 {
    let (takes, share) = (gpus_of_a_replica(models), config.infer.runner.max_workers_per_gpu.max(1));
    let on_cpu = models.iter().any(|model| model.device == DeviceRequest::Cpu);
    let by_gpus = match visible_gpus() {
        0 => None,
        gpus => (takes > 0 && !on_cpu).then(|| (gpus / takes).saturating_mul(share)),
    };
    let hardware = by_gpus.unwrap_or_else(|| most.unwrap_or_else(cores));
    hardware.min(most.unwrap_or(u32::MAX)).min(gpu_slots(config).unwrap_or(u32::MAX)).max(1)
}

/// Cores that the workers of a job share where all of them are launched on this host, an engine of theirs with one thread;
/// `None` where workers may run elsewhere.
pub fn shared_cores(config: &Config) -> Option<u32> {
    (!is_open(config)).then(cores)
}

/// The smaller of two bounds, either of which may be none.
fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

/// A pool of the configuration, or the runner seen as one.
struct LaunchTarget<'c> {
    name: &'c str,
    runner: &'c RunnerKind,
    pool: Option<&'c PoolConfig>,
}

fn places(config: &Config) -> Vec<LaunchTarget<'_>> {
    if config.pools.is_empty() {
        let runner = &config.infer.runner.kind;
        return vec![LaunchTarget { name: runner.name(), runner, pool: None }];
    }
    config.pools.iter().map(|pool| LaunchTarget { name: &pool.name, runner: &pool.runner, pool: Some(pool) }).collect()
}

impl LaunchTarget<'_> {
    fn models<'c>(&self, config: &'c Config) -> Vec<&'c ModelConfig> {
        config.models.iter().filter(|model| self.pool.is_none_or(|pool| loads(pool, model))).collect()
    }

    /// GPUs, slots, fewest and most jobs.
    fn spec(&self, config: &Config, debug: bool) -> PoolSpec {
        let models_here = self.models(config);
        let runner = &config.infer.runner;
        let takes = gpus_of_a_replica(&models_here);
        let most_here = least(runner.max_num_workers, self.pool.and_then(|pool| pool.max_num_workers));
        let share = if takes > 0 { runner.max_workers_per_gpu.clamp(1, most_here.unwrap_or(u32::MAX)) } else { 1 };
        let gpus_here = self.pool.map(|pool| pool.max_gpus).filter(|gpus| *gpus > 0 && takes > 0);
        let least_slots = self.pool.map_or(0, |pool| pool.min_num_workers);
        let (gpus, slots, most) = match self.runner {
            RunnerKind::Local => {
                let by_gpus = gpus_here.map(|gpus| (gpus / takes.max(1)).saturating_mul(share).max(1));
                let slots = if debug { 1 } else { local_slots(config, &models_here, least(most_here, by_gpus)) };
                (takes.saturating_mul(slots.div_ceil(share)), slots, 1)
            }
            _ if debug => (takes, 1, 1),
            _ => {
                let by_slots = least(most_here, gpu_slots(config)).map(|most| (most / share).max(1));
                let by_gpus = gpus_here.map(|gpus| gpus / takes.max(1));
                (takes, share, least(by_slots, by_gpus).unwrap_or(UNBOUNDED))
            }
        };
        // What the slots of all pools together may be is for the autoscaler.
        let least = least_slots.div_ceil(slots.max(1)).min(most);
        let retry = config.infer.runner.launch_retry;
        // Here a local worker writes to the terminal itself.
        let (name, kind, shows_logs) = (self.name.to_owned(), self.runner.name(), debug);
        PoolSpec { name, kind, gpus, slots, least, most, retry, shows_logs }
    }
}

/// Replica slots that the stage may come to have: what partitioners cut for.
pub(super) fn slots(config: &Config, debug: bool) -> u32 {
    if debug {
        return 1;
    }
    let of_place = |place: LaunchTarget<'_>| match place.runner {
        RunnerKind::None => {
            local_slots(config, &config.models.iter().collect::<Vec<_>>(), config.infer.runner.max_num_workers)
        }
        _ => {
            let spec = place.spec(config, debug);
            spec.slots.saturating_mul(spec.most)
        }
    };
    let all = places(config).into_iter().map(of_place).fold(0, u32::saturating_add);
    let bound = least(config.infer.runner.max_num_workers, gpu_slots(config)).unwrap_or(u32::MAX);
    all.min(bound).max(1)
}

/// Slots that the scheduler lets in, those of workers that come on their own included; `None` takes whatever comes.
pub(super) fn slots_let_in(config: &Config, slots: u32, others_may_come: bool) -> Option<u32> {
    let only_local = config.pools.is_empty() && config.infer.runner.kind == RunnerKind::Local;
    match only_local {
        true => (!others_may_come).then_some(slots),
        false => least(config.infer.runner.max_num_workers, gpu_slots(config)),
    }
}

/// Returns whether workers may come that no launcher of this stage started, or that outlive this master.
pub(super) fn is_open(config: &Config) -> bool {
    places(config).iter().any(|place| place.runner.is_remote())
}

/// Returns whether workers may join that are not launched here.
pub(super) fn comes_by_itself(config: &Config) -> bool {
    places(config).iter().any(|place| *place.runner == RunnerKind::None)
}

/// Returns the address that workers dial that are not launched here, as their command line has it: with their pool,
/// where there is one alone. `None` where none may join.
pub fn open_at(config: &Config, address: &str) -> Option<String> {
    let not_launched = places(config).into_iter().filter(|place| *place.runner == RunnerKind::None);
    let pools: Vec<Option<&str>> = not_launched.map(|place| place.pool.map(|pool| pool.name.as_str())).collect();
    match pools.as_slice() {
        [] => None,
        [Some(pool)] => Some(format!("{address} --pool {pool}")),
        [None] => Some(address.to_owned()),
        _ => Some(format!("{address} --pool NAME")),
    }
}

/// Describes how workers join that are not launched; `is_only_way` says that none are launched.
pub(super) fn how_to_join(open_at: &str, is_only_way: bool) -> String {
    let also = if is_only_way { "" } else { "also " };
    format!("workers can {also}join manually: compass-worker --master {open_at}")
}

/// Returns the runner's name in `logs/run.json`.
pub(super) fn runner_name(config: &Config) -> String {
    let kinds: Vec<String> = places(config)
        .iter()
        .map(|place| match place.pool {
            None => place.runner.name().to_owned(),
            Some(pool) => format!("{}:{}", pool.name, place.runner.name()),
        })
        .collect();
    kinds.join(",")
}

/// Returns the terms that the workers of each pool are told beside the plan.
pub(super) fn pool_terms(config: &Config) -> BTreeMap<String, PoolTerms> {
    let terms = |pool: &PoolConfig| PoolTerms { offline_continue: pool.offline_continue, paths: pool.paths.clone() };
    config.pools.iter().map(|pool| (pool.name.clone(), terms(pool))).collect()
}

fn loads(pool: &PoolConfig, model: &ModelConfig) -> bool {
    ModelPlacement::from(model).loads_in(pool)
}

/// The pools of a stage; none when workers come on their own. `near` and `far` are where workers on this host and of
/// others find the master.
///
/// # Errors
/// There is no worker to launch, or no launcher for it.
pub(super) fn autoscaler(
    config: &Config,
    near: &str,
    far: &str,
    options: LaunchOptions<'_>,
) -> Result<Autoscaler, LaunchError> {
    if let Some(model) = config
        .models
        .iter()
        .find(|model| !config.pools.is_empty() && config.pools.iter().all(|pool| !loads(pool, model)))
    {
        return Err(LaunchError::NoPool { model: model.abbr.clone() });
    }
    let mut pools = Vec::new();
    for place in places(config) {
        check_gpus(config, &place)?;
        let spec = place.spec(config, options.debug);
        // A worker on this host ends with its master.
        let master = match (place.runner.is_remote(), options.others) {
            (true, Some(others)) => MasterAddresses::with_others(far, others.clone()),
            (true, None) => MasterAddresses::alone(far),
            (false, _) => MasterAddresses::alone(near),
        };
        if let Some(launcher) = launcher(config, &place, &spec, master, options)? {
            pools.push(Pool { spec, launcher });
        }
    }
    let runner = &config.infer.runner;
    let bounds = Bounds {
        slots: if options.debug { Some(1) } else { runner.max_num_workers },
        gpus: (runner.max_gpus > 0).then_some(runner.max_gpus),
    };
    Ok(Autoscaler { pools, bounds, others_may_come: comes_by_itself(config) })
}

/// The pools of a stage that has workers of its own, for a master that is open.
///
/// # Errors
/// As for the pools of a stage.
pub fn fleet_of_stage(stage: &StageRegistration<'_>, endpoint: &WorkerEndpoint) -> Result<Autoscaler, LaunchError> {
    let job = stage.plan.short();
    let options = LaunchOptions {
        debug: stage.debug,
        stage: stage.name,
        programs: stage.programs,
        folder: Some(stage.folder),
        shows_logs_of_run: false,
        logs_here: None,
        token_file: endpoint.token_file(),
        job: &job,
        others: None,
    };
    autoscaler(stage.config, endpoint.near(), endpoint.advertised(), options)
}

/// The pools of a master that stays: nothing is known of models, every pool takes all jobs. `others` are the addresses of those
/// that stand by.
///
/// # Errors
/// As for the pools of a stage.
pub fn fleet_of(
    config: &Config,
    endpoint: &WorkerEndpoint,
    others: &watch::Receiver<Vec<String>>,
) -> Result<Autoscaler, LaunchError> {
    let (programs, token_file) = (Programs::Contained, endpoint.token_file());
    let authority = endpoint.authority().short();
    let logs = config.state_dir.join("serve-logs");
    let options = LaunchOptions {
        debug: false,
        stage: "serve",
        programs,
        folder: None,
        shows_logs_of_run: false,
        logs_here: Some(&logs),
        token_file,
        job: &authority,
        others: Some(others),
    };
    autoscaler(config, endpoint.near(), endpoint.advertised(), options)
}

fn launcher(
    config: &Config,
    place: &LaunchTarget<'_>,
    spec: &PoolSpec,
    master: MasterAddresses,
    options: LaunchOptions<'_>,
) -> Result<Option<Box<dyn Launcher>>, LaunchError> {
    let models = place.models(config);
    let worker = |device: String| -> Result<WorkerCommand, LaunchError> {
        let of_jobs = match place.runner {
            RunnerKind::Dlc(dlc) => dlc.aliyun.worker_path.as_ref().map(PathBuf::from),
            _ => None,
        };
        let named = place.pool.and_then(|pool| pool.worker.clone()).or(of_jobs);
        Ok(WorkerCommand {
            binary: named.map_or_else(find_worker, Ok)?,
            master: master.clone(),
            slots: spec.slots,
            device,
            programs: options.programs,
            pool: place.pool.map(|pool| pool.name.clone()),
        })
    };
    let mut environment = place.pool.map(|pool| pool.environment.clone()).unwrap_or_default();
    let token_file = options.token_file.map(|path| path.display().to_string()).unwrap_or_default();
    // Local agents inherit this process's own, which may be meant for another master.
    if !token_file.is_empty() || !place.runner.is_remote() {
        environment.push((TOKEN_FILE.to_owned(), token_file));
    }
    // The state folder is a disk on this host: jobs of Slurm, which write their logs themselves, cannot be sent there.
    let logs_of_run = options.folder.map(|folder| folder.logs().join(options.stage));
    let logs_to_come = options.shows_logs_of_run.then(|| Path::new("<run folder>/logs").join(options.stage));
    let logs = logs_of_run.clone().or_else(|| options.logs_here.map(Path::to_owned));
    match place.runner {
        RunnerKind::None => Ok(None),
        RunnerKind::Local => {
            let file = match place.pool {
                None => "local.log".to_owned(),
                Some(pool) => format!("{}.log", pool.name),
            };
            let log: Option<PathBuf> = logs.filter(|_| !options.debug).map(|logs| logs.join(file));
            environment.extend(config.local_environment.iter().cloned());
            let local = LocalLauncher::new(worker(device(&models, true)?)?, environment, log);
            Ok(Some(Box::new(local)))
        }
        RunnerKind::Slurm(slurm) => {
            let run = options.folder.map_or_else(|| "RUN".into(), RunFolder::name);
            if options.logs_here.is_some() && slurm.log_dir.is_none() {
                let name = place.name;
                print_status(format!(
                    "pool {name}: the output of its jobs is not kept; `log_dir` names a folder for it"
                ));
            }
            let belonging = Belonging { run: &run, job: options.job, stage: options.stage, pool: place.name };
            let order = SlurmOrder {
                pool: place.name.to_owned(),
                config: slurm.clone(),
                gpus: spec.gpus,
                worker: worker(device(&models, false)?)?,
                environment,
                name: format!("compass {} [{}]", belonging.run, abbreviations(&models)),
                logs: slurm.log_dir.clone().or(logs_of_run).or(logs_to_come),
            };
            Ok(Some(Box::new(SlurmLauncher::new(order, &belonging))))
        }
        RunnerKind::Dlc(dlc) => {
            let worker = worker(device(&models, false)?)?;
            let run = options.folder.map_or_else(|| "RUN".into(), RunFolder::name);
            let run = if place.pool.is_some() { format!("{run}-{}", place.name) } else { run };
            let place = DlcPlace { run, gpus: spec.gpus, environment, logs };
            Ok(Some(Box::new(DlcLauncher::new((**dlc).clone(), worker, place))))
        }
        RunnerKind::Command(command) => {
            let (worker, name) = (worker(device(&models, false)?)?, place.name.to_owned());
            let logs = logs.filter(|_| !options.debug);
            let launcher = CommandLauncher::new(command.clone(), worker, name, spec.gpus, environment, logs);
            Ok(Some(Box::new(launcher)))
        }
    }
}

/// Checks that the bounds leave GPUs for one replica of every model.
fn check_gpus(config: &Config, place: &LaunchTarget<'_>) -> Result<(), LaunchError> {
    let bounds = [config.infer.runner.max_gpus, place.pool.map_or(0, |pool| pool.max_gpus)];
    let Some(bound) = bounds.into_iter().filter(|bound| *bound > 0).min() else { return Ok(()) };
    match place.models(config).into_iter().find(|model| model.num_gpus > bound) {
        Some(model) => Err(LaunchError::TooFewGpus { model: model.abbr.clone(), takes: model.num_gpus, bound }),
        None => Ok(()),
    }
}

/// The models of a place, for people.
fn abbreviations(models: &[&ModelConfig]) -> String {
    models.iter().map(|model| model.abbr.as_str()).collect::<Vec<_>>().join(",")
}

/// The device of the agents of a place: what its models ask for, as far as they ask.
fn device(models: &[&ModelConfig], is_here: bool) -> Result<String, LaunchError> {
    let first = |wanted| models.iter().find(|model| model.device == wanted).map(|model| model.abbr.clone());
    match (first(DeviceRequest::Cpu), first(DeviceRequest::Cuda)) {
        (Some(cpu), Some(cuda)) => Err(LaunchError::TwoDevices { cpu, cuda }),
        (Some(_), None) => Ok("cpu".into()),
        (None, Some(model)) if is_here && !sees_gpu() => {
            Err(LaunchError::NoGpu { model, shown: GpuFiles::here().none_shown() })
        }
        // The plan says that a GPU is wanted, and an engine without one refuses; `cuda:0` would be the GPU of every slot.
        (None, _) => Ok("auto".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_config::{Overrides, load};

    /// The configuration of the file, with an echo model that takes a GPU.
    fn configured(infer: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let model = "[[model]]\nabbr = \"m\"\ntype = \"echo\"\nrun_cfg = { num_gpus = 1 }\n";
        let dataset = "[[dataset]]\nabbr = \"d\"\nreader_cfg = { input_columns = [\"q\"], output_column = \"a\" }\n\
                       test = { path = \"d.jsonl\" }\ninfer_cfg = { inferencer = \"gen\", prompt_template = \"{q}\" }\n\
                       eval_cfg = { evaluator = \"em\" }\n";
        std::fs::write(folder.path().join("d.jsonl"), "{}").unwrap();
        let file = folder.path().join("eval.toml");
        std::fs::write(&file, format!("work_dir = \"w\"\n{model}{dataset}{infer}")).unwrap();
        let flags = Overrides { home: Some(folder.path().into()), ..Overrides::default() };
        load(Some(&file), &flags).unwrap().config
    }

    /// Returns the GPUs, slots and most jobs of each place in the file.
    fn specs(infer: &str) -> Vec<(u32, u32, u32)> {
        let config = configured(infer);
        let spec = |place: LaunchTarget<'_>| {
            let spec = place.spec(&config, false);
            (spec.gpus, spec.slots, spec.most)
        };
        places(&config).into_iter().map(spec).collect()
    }

    #[test]
    fn workers_that_are_not_launched_are_told_their_pool() {
        let pool = |name: &str, launcher: &str| format!("[[pool]]\nname = \"{name}\"\nlauncher = \"{launcher}\"\n");
        let at = |infer: &str| open_at(&configured(infer), "h:1");
        assert_eq!(at("[infer.runner]\ntype = \"none\"\n").as_deref(), Some("h:1"));
        assert_eq!(at(&pool("near", "local")), None);
        assert_eq!(at(&(pool("near", "local") + &pool("far", "none"))).as_deref(), Some("h:1 --pool far"));
        assert_eq!(at(&(pool("a", "none") + &pool("far", "none"))).as_deref(), Some("h:1 --pool NAME"));
        let joining = [true, false].map(|is_only_way| how_to_join("h:1", is_only_way));
        let expected = [
            "workers can join manually: compass-worker --master h:1",
            "workers can also join manually: compass-worker --master h:1",
        ];
        assert_eq!(joining, expected);
    }

    #[test]
    fn jobs_are_cut_to_every_bound() {
        let slurm = |keys: &str| specs(&format!("[infer.runner]\ntype = \"slurm\"\n{keys}"));
        assert_eq!(slurm(""), [(1, 1, 1)], "as many as OpenCompass has by default");
        assert_eq!(slurm("max_num_workers = 32\n"), [(1, 1, 32)]);
        assert_eq!(slurm("max_num_workers = 32\nmax_gpus = 5\n"), [(1, 1, 5)]);
        assert_eq!(slurm("max_num_workers = 8\nmax_workers_per_gpu = 3\n"), [(1, 3, 2)]);
        assert_eq!(slurm("max_num_workers = 1\nmax_workers_per_gpu = 3\n"), [(1, 1, 1)]);
        let pool = "[[pool]]\nname = \"p\"\nlauncher = \"slurm\"\nmax_gpus = 4\n";
        assert_eq!(specs(&format!("{pool}[infer.runner]\nmax_num_workers = 32\n")), [(1, 1, 4)]);
    }
}
