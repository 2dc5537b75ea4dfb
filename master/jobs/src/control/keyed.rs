//! Submissions of programs: under a key, so that one that is made again is not run again.

use super::client::Master;
use crate::job::{Failure, JobRecord};
use compass_cli::exit;
use compass_proto::v1::follow_reply::Body;
use std::path::Path;

/// The server of a state folder.
#[derive(Clone, Debug)]
pub struct ServerOfJobs(Master);

/// Result of following a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The job ended, with this exit code, and why it has no table; empty where it has one.
    Ended { code: u8, reason: String },
    /// The server went away.
    Lost,
}

impl ServerOfJobs {
    /// Connects to it.
    ///
    /// # Errors
    /// There is none, and what to do about it.
    pub async fn connect(state_dir: &Path) -> Result<Self, Failure> {
        Master::server(state_dir).await.map(Self)
    }

    /// Hands a job over and returns its id: that of an earlier submission under the same key, where there was one.
    ///
    /// # Errors
    /// It takes the job in never (bad input), or not now.
    pub async fn submit(&mut self, job: &JobRecord) -> Result<String, Failure> {
        let job = serde_json::to_vec(job).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
        Ok(self.0.submit(job).await?.job)
    }

    /// Waits until a job ends.
    ///
    /// # Errors
    /// The server does not know the job.
    pub async fn follow(&mut self, job: &str) -> Result<Followed, Failure> {
        let mut said = self.0.follow(job.to_owned(), false).await?;
        while let Ok(Some(reply)) = said.message().await {
            if let Some(Body::Ended(ended)) = reply.body {
                let code = u8::try_from(ended.exit_code).unwrap_or(exit::INFRASTRUCTURE);
                return Ok(Followed::Ended { code, reason: ended.reason });
            }
        }
        Ok(Followed::Lost)
    }
}
