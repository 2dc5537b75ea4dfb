//! A job on the echo engine whose workers are jobs of a fake `dlc`.

use crate::job::Job;
use crate::processes::{program, wait_until};
use std::fs;
use std::path::PathBuf;

/// A folder with a fake `dlc`, and what it is told.
pub struct FakeDlc {
    state: PathBuf,
    bin: PathBuf,
}

impl FakeDlc {
    /// Puts a fake `dlc` beside the job, and its settings into `aliyun.toml`; the job's programs find it from now on.
    /// `settings` are further lines of that file, `delay_ms` is what each sample takes.
    pub fn install(job: &mut Job, delay_ms: u32, settings: &str) -> Self {
        let dlc = Self { state: job.path("dlc_state"), bin: job.path("bin") };
        let made = fs::create_dir_all(&dlc.state)
            .and_then(|()| fs::create_dir_all(&dlc.bin))
            .and_then(|()| std::os::unix::fs::symlink(program("fake-dlc"), dlc.bin.join("dlc")));
        assert!(made.is_ok(), "{made:?}");
        let path = std::env::var("PATH").unwrap_or_default();
        job.set_env("PATH", &format!("{}:{path}", dlc.bin.display()));
        job.set_env("FAKE_DLC_STATE", &dlc.state.display().to_string());
        let aliyun = format!(
            "workspace_id = \"ws1\"\nresource_id = \"quota1\"\nworker_image = \"registry/pai:1\"\ndata_sources = [\"d-1\"]\n\
             dlc_sleep_time = 0\nextra_envs = [\"COMPASS_FAULT_DELAY_MS={delay_ms}\"]\n{settings}\n"
        );
        job.write("aliyun.toml", &aliyun);
        dlc
    }

    /// What goes wrong: `name=number`, one in each line.
    pub fn faults(&self, faults: &str) {
        let partial = self.state.join("faults.partial");
        let written = fs::write(&partial, faults).and_then(|()| fs::rename(&partial, self.state.join("faults")));
        assert!(written.is_ok(), "{written:?}");
    }

    /// Takes the program away.
    pub fn uninstall(&self) {
        let removed = fs::remove_file(self.bin.join("dlc"));
        assert!(removed.is_ok(), "{removed:?}");
    }

    /// Every call so far, as its words.
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.state.join("calls")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Jobs with their states, by id.
    pub fn jobs(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.state).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|id| id.starts_with("dlc"));
        let mut jobs: Vec<(String, String)> = ids
            .filter_map(|id| {
                let bytes = fs::read(self.state.join(&id).join("status.json")).ok()?;
                let state: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
                Some((id, state["status"].as_str()?.to_owned()))
            })
            .collect();
        jobs.sort();
        jobs
    }

    /// Takes the place of a job that runs.
    pub fn preempt(&self, job: &str) {
        let asked = fs::write(self.state.join(job).join("preempt"), "");
        assert!(asked.is_ok(), "{asked:?}");
    }

    /// Waits until no job is left that waits or runs.
    pub fn assert_all_over(&self) {
        let is_over = |state: &str| matches!(state, "Succeeded" | "Failed" | "Stopped");
        wait_until("every job has ended", || self.jobs().iter().all(|(_, state)| is_over(state)).then_some(()));
    }
}
