//! The job of a content from its beginning to its end, in this process or with a server.

use super::jobs::{Jobs, Stop, Task};
use super::{here, served};
use compass_watch::{Ending, Event};

impl Jobs {
    /// Runs the job of a content to its end, and tells the watch.
    pub(super) async fn run(self, task: Task) {
        let Task { content, name, .. } = task.clone();
        let event = match self.run_to_its_end(&task).await {
            Ok(ending) => Event::Ended { content, ending },
            Err(Stop::Changed) => Event::Changed { content, name },
            Err(Stop::Interrupted) => return,
            Err(Stop::Failed(failure)) => self.failed(&task, &failure),
        };
        self.tell(event).await;
    }

    async fn run_to_its_end(&self, task: &Task) -> Result<Ending, Stop> {
        match &self.server {
            None => Box::pin(here::run(self, task)).await,
            Some(server) => Box::pin(served::run(self, server, task)).await,
        }
    }
}
