//! Check of the flags of launchers that is possible only once runners and pools are read: the flags have to reach somebody.
//!
//! A flag that is ignored would let a job run where it was not meant to: on a login node, for want of `--slurm`.

use super::overrides::Overrides;
use crate::report::check::Check;
use compass_settings::{PoolConfig, RunnerKind};

/// Reports the flags that no launcher of the job takes. A runner's `type` of a file gives way to pools without a word: a
/// base that is included may name one.
pub(crate) fn fit(check: &mut Check, runners: [&RunnerKind; 2], pools: &[PoolConfig], flags: &Overrides) {
    let slurm = &flags.slurm;
    let of_slurm = [("-p", &slurm.partition), ("-q", &slurm.quotatype), ("--qos", &slurm.qos)];
    let mut of_slurm = of_slurm.iter().filter(|(_, value)| value.is_some()).map(|(flag, _)| *flag);
    let first_of_slurm = slurm.asked.then_some("--slurm").or_else(|| of_slurm.next());
    let first_of_dlc = flags.dlc.asked.then_some("--dlc").or(flags.dlc.aliyun_cfg.as_ref().map(|_| "--aliyun-cfg"));
    let is = |kind: fn(&RunnerKind) -> bool| runners.into_iter().any(kind);
    let slurm_runs = is(|kind| matches!(kind, RunnerKind::Slurm(_)));
    let dlc_runs = is(|kind| matches!(kind, RunnerKind::Dlc(_)));
    for (flag, name, asking, runs) in
        [(first_of_slurm, "slurm", "--slurm", slurm_runs), (first_of_dlc, "dlc", "--dlc", dlc_runs)]
    {
        let Some(flag) = flag else { continue };
        if !pools.is_empty() {
            let message = format!("`{flag}` is for the workers of a runner, and here the [[pool]] tables launch them");
            let help = format!("leave the flag away; a pool of its own has `launcher = {{ type = \"{name}\", ... }}`");
            check.report(None, message, Some(help));
        } else if !runs {
            let message = format!("`{flag}` has no effect: the runner's type is `{}`", runners[0].name());
            let help = format!("add {asking}, or write `type = \"{name}\"` into [infer.runner]");
            check.report(None, message, Some(help));
        }
    }
}
