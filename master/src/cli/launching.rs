//! Flags that say who launches workers, with OpenCompass's names.

use super::number::whole;
use clap::Args;
use compass_config::{DlcFlags, SlurmFlags};
use std::path::PathBuf;

/// Flags that say who launches workers.
#[derive(Clone, Debug, Default, Args)]
pub struct LaunchArguments {
    /// Launch workers as Slurm jobs
    #[arg(long)]
    pub slurm: bool,

    /// Partition of the Slurm jobs
    #[arg(long, short = 'p', value_name = "NAME")]
    pub partition: Option<String>,

    /// Quota type of the Slurm jobs, where the site has them: reserved, spot, auto
    #[arg(long, short = 'q', value_name = "TYPE")]
    pub quotatype: Option<String>,

    /// Quality of service of the Slurm jobs
    #[arg(long, value_name = "NAME")]
    pub qos: Option<String>,

    /// Launch workers as jobs of Alibaba's DLC
    #[arg(long, conflicts_with = "slurm")]
    pub dlc: bool,

    /// Settings of the DLC jobs: TOML, or Python's plain values [default: ~/.aliyun.cfg]
    #[arg(long, value_name = "FILE")]
    pub aliyun_cfg: Option<PathBuf>,

    /// GPUs that the whole job may hold at once, over all launchers; 0 is no bound
    #[arg(long, value_name = "N", value_parser = whole)]
    pub max_gpus: Option<u32>,
}

impl LaunchArguments {
    /// Returns the flags about DLC.
    pub fn dlc_flags(&self) -> DlcFlags {
        DlcFlags { asked: self.dlc, aliyun_cfg: self.aliyun_cfg.clone() }
    }

    /// Returns the flags about Slurm.
    pub fn slurm_flags(&self) -> SlurmFlags {
        SlurmFlags {
            asked: self.slurm,
            partition: self.partition.clone(),
            quotatype: self.quotatype.clone(),
            qos: self.qos.clone(),
        }
    }
}
