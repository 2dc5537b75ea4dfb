//! `--dry-run`: the tasks and the commands, and nothing started.

use super::execution::stage_config;
use super::infer::tasks;
use super::infer_error::InferError;
use super::launching::{LaunchOptions, autoscaler, comes_by_itself, slots};
use super::task_list::listing;
use super::worker_endpoint::told;
use compass_chat::thinking_of;
use compass_common::words::{counted, grouped};
use compass_launch::Programs;
use compass_plan::partition::TaskList;
use compass_plan::{DuplicateGroups, NumericProfile, Plan};
use compass_planning::{has_programs, outline};
use compass_run_folder::Planned;
use compass_scheduler::{Duplicates, Recorded};
use compass_settings::{Config, left_out_lines};
use compass_types::ids::Digest;
use std::fmt::Write as _;
use std::path::Path;

/// The tasks that a run would grant and the commands that it would launch, as text; with `debug`, one slot.
///
/// # Errors
/// The partitioner's settings make no sense, or there is no worker to launch.
pub fn dry_run(config: &Config, planned: &Planned, unsafe_local_exec: bool, debug: bool) -> Result<String, InferError> {
    let plan = &planned.plan;
    let mut text = String::new();
    for line in left_out_lines(&config.left_out) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    for model in plan.models.iter().filter(|model| model.chat && model.profile == NumericProfile::Canonical) {
        let found = thinking_of(Path::new(&model.tokenizer_path), &model.thinking, &model.chat_template_kwargs);
        let described = found.and_then(|found| found.ok()?.describe(&model.thinking, model.max_out_len));
        if let Some(described) = described {
            let _ = writeln!(text, "{}: {described}", model.abbr);
        }
    }
    for model in &plan.models {
        if let Some(described) = model.decoding.describe_card() {
            let _ = writeln!(text, "{}: {described}", model.abbr);
        }
    }
    text.push_str(&stage(config, (plan, &planned.duplicates), Programs::None, "", debug)?);
    if has_programs(plan) {
        let config = stage_config(config);
        let programs = if unsafe_local_exec { Programs::Unsafe } else { Programs::Contained };
        text.push_str("then the programs that the answers are:\n");
        text.push_str(&stage(&config, (&outline(plan), &DuplicateGroups::default()), programs, "execute ", debug)?);
    }
    Ok(text)
}

/// Slots that the job would have.
pub fn planned_slots(config: &Config, debug: bool) -> u32 {
    slots(config, debug)
}

fn stage(
    config: &Config,
    (plan, groups): (&Plan, &DuplicateGroups),
    programs: Programs,
    kind: &str,
    debug: bool,
) -> Result<String, InferError> {
    let recorded = Recorded::default();
    let duplicates = Duplicates::beside(groups.of_units(plan), &recorded);
    let tasks = tasks(config, plan, (&recorded, &duplicates), slots(config, debug))?;
    // What it is the list of does not show.
    let mut text = listing(&TaskList::new(plan, &Digest([0; 32]), &tasks), kind, |_| String::new());
    // Writing to a string cannot fail.
    let _ = write!(text, "{}, {}", counted(tasks.len() as u64, "task"), counted(plan.expected(), "sample"));
    let equal = match duplicates.len() {
        0 => String::new(),
        count => {
            format!(", {} of which repeat the request of another and are recorded with its result", grouped(count))
        }
    };
    let _ = writeln!(text, "{equal}");
    let (near, far) = told_in_words(config);
    let stage = if kind.is_empty() { "infer" } else { kind.trim_end() };
    let options = LaunchOptions { stage, shows_logs_of_run: true, ..launching(programs, debug) };
    for pool in autoscaler(config, &near, &far, options)?.pools {
        for line in pool.launcher.command_lines(pool.spec.most) {
            let _ = writeln!(text, "would launch: {line}");
        }
    }
    if comes_by_itself(config) {
        let _ = writeln!(text, "would launch nothing; start workers with: compass-worker --master {far}");
    }
    Ok(text)
}

/// Checks that workers can be launched at all.
///
/// # Errors
/// They cannot.
pub async fn check_launcher(config: &Config) -> Result<(), InferError> {
    let (near, far) = told(config, config.listen);
    for mut pool in autoscaler(config, &near, &far, launching(Programs::None, false))?.pools {
        pool.launcher.check().await?;
    }
    Ok(())
}

/// As [`told`], with words where the system chooses the port once the run begins.
fn told_in_words(config: &Config) -> (String, String) {
    let (near, far) = told(config, config.listen);
    (port_in_words(near), port_in_words(far))
}

fn port_in_words(address: String) -> String {
    if address.ends_with(":0") { "<host of the master>:<port>".to_owned() } else { address }
}

fn launching(programs: Programs, debug: bool) -> LaunchOptions<'static> {
    LaunchOptions {
        debug,
        stage: "",
        programs,
        folder: None,
        shows_logs_of_run: false,
        logs_here: None,
        token_file: None,
        job: "JOB",
        others: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_not_chosen_yet_is_said_in_words() {
        assert_eq!(port_in_words("127.0.0.1:0".into()), "<host of the master>:<port>");
        assert_eq!(port_in_words("head:50050".into()), "head:50050");
    }
}
