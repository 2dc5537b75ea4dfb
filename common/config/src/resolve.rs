//! From a merged tree to a configuration: the passes over it, in their order.

use super::keys::TableKeys;
use crate::flags::data_cache::DataCache;
use crate::flags::overrides::Overrides;
use crate::flags::{checkpoint, command_line, launcher_fit};
use crate::opencompass;
use crate::passes::selection::{self, List};
use crate::passes::{for_each, inherit, inherit_preset};
use crate::presets::{data_sets, models};
use crate::read::datasets::dataset::{self, DATASET};
use crate::read::fields::Fields;
use crate::read::master::addresses;
use crate::read::models::card;
use crate::read::models::model::{self, MODEL};
use crate::read::stages::stage::{self, EVAL, INFER};
use crate::read::summary::{cycle, summarizer};
use crate::read::top::TOP;
use crate::read::{combination, notify, paths, pool};
use crate::report::check::Check;
use crate::report::left_out;
use crate::syntax::source::{Reading, Shipped, Span};
use crate::syntax::tree::{Node, Table};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_plan::partition::PartitionerKind;
use compass_settings::{Config, DatasetConfig, LeftOutKind, come_from_elsewhere};
use std::path::{Path, PathBuf};

pub(crate) const MODELS: List = List { table: "model", names: "models", noun: "model", kind: LeftOutKind::Model };

pub(crate) const DATASETS: List =
    List { table: "dataset", names: "datasets", noun: "data set", kind: LeftOutKind::Dataset };

/// The folder of presets' data when none is named; relative to the current directory.
pub(crate) const DATA_DIR: &str = "data";

/// The folder of OpenCompass's runs; relative to the current directory.
pub(crate) const WORK_DIR: &str = "outputs/default";

/// The configuration that a merged tree comes to, and that tree with all that it names in it.
pub(crate) fn resolve(
    check: &mut Check,
    mut table: Table,
    span: Span,
    overrides: &Overrides,
) -> Option<(Config, Table)> {
    inherit::resolve(check, &mut table);
    for_each::expand(check, &mut table);
    inherit_preset::resolve(check, &mut table);
    let mut asked_models = models::resolve(check, &mut table, overrides.models.as_deref());
    let flagged = command_line::apply(check, &mut table, overrides);
    let wanted_models = flagged.models.as_deref().or(overrides.models.as_deref());
    let wanted_datasets = flagged.datasets.as_deref().or(overrides.datasets.as_deref());
    let mut asked = data_sets::resolve(check, &mut table, wanted_datasets);
    let names = |table: &Table, list, flag: Option<&[String]>| match flag.filter(|names| !names.is_empty()) {
        Some(names) => names.to_vec(),
        None => table
            .get(list)
            .map(Node::items)
            .into_iter()
            .flatten()
            .filter_map(|node| Some(node.text()?.into()))
            .collect(),
    };
    let names = (names(&table, "models", wanted_models), names(&table, "datasets", wanted_datasets));
    opencompass::named_models(check, &mut table, &names.0, &mut asked_models);
    opencompass::named_datasets(check, &mut table, &names.1, &mut asked);
    if let Some(directory) = &overrides.checkpoint {
        let wanted =
            names.0.iter().flat_map(|name| asked_models.get(name).cloned().unwrap_or_else(|| vec![name.clone()]));
        checkpoint::put(check, &mut table, &wanted.collect::<Vec<_>>(), directory);
    }
    if let Some(name) = &overrides.summarizer {
        opencompass::named_summarizer(check, &mut table, name, span);
    }
    flags(check, overrides);
    let mut root = Fields::new(&table, span, &TOP);
    root.get("include");
    // Applied when the files were read: what they include may be in Python.
    root.get("import");

    let work_dir = match (&overrides.work_dir, root.get("work_dir")) {
        (Some(dir), _) => flag_folder(check, dir),
        (None, Some(node)) => paths::folder(check, "work_dir", node),
        (None, None) => std::path::absolute(WORK_DIR).ok(),
    };
    let named = root.get("data_dir").filter(|node| !node.is_empty());
    let data_dir: Option<PathBuf> = match check.environment.flagged_dir.clone() {
        Some(dir) => Some(dir),
        None => named.and_then(|node| paths::resolve(check, "data_dir", node)),
    };
    check.environment.data_root = data_dir.clone().unwrap_or_else(|| DATA_DIR.into());
    let master = addresses::read(check, &mut root);

    let pools = pool::read(check, &mut root);
    check.environment.elsewhere = pools.iter().flatten().flat_map(|pool| pool.paths.clone()).collect();
    let chosen = selection::read(check, &mut root, &MODELS, wanted_models, &asked_models);
    let models = each(check, &chosen, model::read, &MODEL, LeftOutKind::Model);
    let chosen = selection::read(check, &mut root, &DATASETS, wanted_datasets, &asked);
    let read_dataset = |check: &mut Check, fields: Fields<'_>| dataset::read(check, fields, data_dir.as_deref());
    let datasets = each(check, &chosen, read_dataset, &DATASET, LeftOutKind::Dataset).map(|mut datasets| {
        datasets.iter_mut().for_each(|dataset: &mut DatasetConfig| dataset.limit = overrides.limit.or(dataset.limit));
        datasets
    });

    let mut infer = stage::read(check, &mut root, "infer", &INFER, overrides, PartitionerKind::Balanced);
    stage::size_flags(&mut infer, overrides);
    let eval = stage::read(check, &mut root, "eval", &EVAL, overrides, PartitionerKind::Naive);
    let notify = notify::read(check, &mut root);
    let summarizer = summarizer::read(check, &mut root);
    if let (Some(summarizer), Some(datasets)) = (&summarizer, &datasets) {
        let names: Vec<&str> = datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
        cycle::note(check, &summarizer.groups, &names);
    }
    let known =
        combination::Names { asked_models: &asked_models, asked_datasets: &asked, ..combination::Names::of(&table) };
    let not_combined = match (&models, &datasets) {
        (Some(models), Some(datasets)) => combination::read(check, &mut root, &known, (models, datasets)),
        _ => root.get("combination").is_none().then(Default::default),
    };
    if let (Some(models), Some(datasets), Some(left)) = (&models, &datasets, &not_combined) {
        card::note_greedy_thinking(check, models, datasets, |model, dataset| {
            !left.contains(&(model.abbr.clone(), dataset.abbr.clone()))
        });
    }
    if let (Some(pools), Some(models)) = (&pools, &models)
        && !(overrides.served && pools.is_empty())
    {
        pool::fit(check, pools, models);
    }
    if let Some(pools) = &pools {
        launcher_fit::fit(check, [&infer.runner.kind, &eval.runner.kind], pools, overrides);
    }
    root.finish(check);
    let pools = pools?;
    let from_elsewhere = come_from_elsewhere(&infer.runner.kind, &pools);
    let listen_ports = master.ports();
    let summarizer = summarizer?;
    let config = Config {
        work_dir: work_dir?,
        data_dir,
        authority: master.authority()?,
        state_dir: master.state_dir?,
        store: master.store,
        worker_lease: master.worker_lease,
        listen: master.listen.unwrap_or_else(|| addresses::default_listen(from_elsewhere)),
        listen_ports,
        advertise: master.advertise,
        http: master.http,
        models: models?,
        datasets: datasets?,
        infer,
        eval,
        pools,
        summary_groups: summarizer.groups,
        summary_rows: summarizer.rows,
        not_combined: not_combined?,
        left_out: check.left_out.clone(),
        notify,
        local_environment: overrides.local_environment.clone(),
    };
    Some((config, table))
}

/// The folder with data sets that `--data-dir` names, or else COMPASS_DATA_CACHE.
pub(crate) fn flagged_dir(check: &mut Check, overrides: &Overrides) -> Option<PathBuf> {
    if let Some(dir) = &overrides.data_dir {
        return std::path::absolute(dir).ok();
    }
    let DataCache { folder, note } = DataCache::of(&std::path::absolute(overrides.data_cache.as_ref()?).ok()?);
    if let Some((message, help)) = note {
        check.tell(message, help);
    }
    Some(folder)
}

/// A check under the flags that say how a configuration is read. A folder that is named and has no tree is reported: nothing that
/// is imported would be what was meant.
pub(crate) fn asked(overrides: &Overrides) -> Check {
    let mut check = Check::new(overrides.home.clone());
    check.environment.hub_caches.clone_from(&overrides.hub_caches);
    check.environment.remote.clone_from(&overrides.remote);
    check.environment.python.clone_from(&overrides.python);
    check.environment.skip_unsupported = overrides.skip_unsupported;
    check.environment.plans_only = overrides.dry_run;
    check.environment.scores_only = overrides.scores_only;
    check.environment.num_runs = overrides.dataset_num_runs;
    // Configurations in Python read rows while they are evaluated, and none of them names the folder.
    check.environment.flagged_dir = flagged_dir(&mut check, overrides);
    check.environment.data_root = check.environment.flagged_dir.clone().unwrap_or_else(|| DATA_DIR.into());
    let wrong = check.environment.python.opencompass.as_deref().and_then(opencompass::no_tree);
    if let Some((message, help)) = wrong {
        check.report(None, format!("{message} (given by --opencompass)"), Some(help));
    }
    check
}

/// Ends a check with the files that are missing told together: by preset, or by folder.
pub(crate) fn finish(mut check: Check) -> Result<Vec<Diagnostic>, Diagnostics> {
    for file in check.files.named_in() {
        // What an import of a preset stands for is a file of its own, and comes from where the preset's data comes from.
        let Some(Shipped::Preset(name)) = check.sources.shipped(file) else { continue };
        if let Some(preset) = data_sets::preset(&name) {
            check.presets.entry(file).or_insert(preset);
        }
    }
    for group in std::mem::take(&mut check.files).grouped(&check.presets, &check.environment.data_root) {
        check.reading = group.reading;
        let skip = if check.environment.skip_unsupported {
            "; --skip-unsupported leaves out what is not served, and this is"
        } else {
            ""
        };
        check.report(Some(group.span), group.message, Some(group.help + skip));
    }
    check.reading = None;
    check.finish()
}

/// The folder that `--work-dir` names.
pub(crate) fn flag_folder(check: &mut Check, dir: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(dir).ok();
    if let Some(fault) = path.as_deref().and_then(paths::file_in_the_way) {
        check.report(
            None,
            format!("`--work-dir` {fault}"),
            Some("name a folder, or a place where one can be made".into()),
        );
    }
    path
}

/// Reads every table, so that each is checked, and returns the wanted ones in order.
pub(crate) fn each<T: Clone>(
    check: &mut Check,
    chosen: &selection::Selection<'_>,
    mut read: impl FnMut(&mut Check, Fields<'_>) -> Option<T>,
    keys: &'static TableKeys,
    kind: LeftOutKind,
) -> Option<Vec<T>> {
    let mut all: Vec<Option<T>> = Vec::with_capacity(chosen.defined.len());
    let mut left_out = Vec::new();
    for (at, (table, span)) in chosen.defined.iter().enumerate() {
        check.unselected = !chosen.wanted.contains(&at);
        let before = check.count();
        check.absent = None;
        check.reading = Some(Reading { name: table.text("abbr").unwrap_or_default().to_owned(), span: *span });
        all.push(read(check, Fields::new(table, *span, keys)));
        check.reading = None;
        if !check.unselected && left_out::settle(check, before, kind, *span, table.text("abbr")) {
            left_out.push(at);
        }
    }
    check.unselected = false;
    let rest: Vec<usize> = chosen.wanted.iter().copied().filter(|at| !left_out.contains(at)).collect();
    if rest.is_empty() {
        left_out::nothing_left(check, kind);
    }
    rest.into_iter().map(|at| all.get(at).cloned().flatten()).collect()
}

/// Numbers given by flags obey the same bounds as those of the file.
pub(crate) fn flags(check: &mut Check, overrides: &Overrides) {
    for (flag, zero) in [
        ("--max-num-workers", overrides.max_num_workers == Some(0)),
        ("--max-workers-per-gpu", overrides.max_workers_per_gpu == Some(0)),
        ("--max-partition-size", overrides.max_partition_size == Some(0)),
        ("--gen-task-coef", overrides.gen_task_coef == Some(0)),
    ] {
        if zero {
            check.report(None, format!("`{flag}` is out of range: 0"), Some("give a whole number of 1 or more".into()));
        }
    }
}
