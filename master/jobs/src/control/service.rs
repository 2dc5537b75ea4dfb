//! The control service. It says what the registry says; whatever carries it decides who may ask.

use super::refusal;
use super::registry::{Declined, JobEntry, JobRegistry, UnknownJob};
use crate::job::{Failure, JobRecord};
use compass_common::job_log::{JobLog, LogLine};
use compass_proto::v1::control_server::{Control, ControlServer};
use compass_proto::v1::explain_request::About;
use compass_proto::v1::follow_reply::Body;
use compass_proto::{digest_from_wire, v1};
use compass_types::ids::TaskId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};

/// Lines on their way to one who follows.
const FOLLOWED: usize = 64;
/// Between two words on how far a job is.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// gRPC service over the registry of jobs.
#[derive(Clone, Debug)]
pub struct ControlService(Arc<JobRegistry>);

impl ControlService {
    /// A service that answers for this registry.
    pub fn new(registry: Arc<JobRegistry>) -> Self {
        Self(registry)
    }

    /// As a server carries it.
    pub fn into_server(self) -> ControlServer<Self> {
        ControlServer::new(self)
    }
}

impl From<UnknownJob> for Status {
    fn from(unknown: UnknownJob) -> Self {
        Self::not_found(unknown.0)
    }
}

#[tonic::async_trait]
impl Control for ControlService {
    type FollowStream = ReceiverStream<Result<v1::FollowReply, Status>>;

    async fn submit(&self, request: Request<v1::SubmitRequest>) -> Result<Response<v1::SubmitReply>, Status> {
        let job: JobRecord = serde_json::from_slice(&request.into_inner().job)
            .map_err(|error| Status::invalid_argument(format!("the job cannot be read: {error}")))?;
        let backend = self.0.backend().ok_or_else(|| Status::failed_precondition("this master ends with its job"))?;
        let accepted = backend.submit(job).await.map_err(|declined| match declined {
            Declined::Now(why) => refusal::to_status(Code::Unavailable, &why),
            Declined::Ever(why) => refusal::to_status(Code::FailedPrecondition, &why),
        })?;
        let folder = accepted.folder.display().to_string();
        Ok(Response::new(v1::SubmitReply { job: accepted.job.0, folder, attached: accepted.attached }))
    }

    async fn find(&self, request: Request<v1::FindRequest>) -> Result<Response<v1::FindReply>, Status> {
        let plan = digest_from_wire(&request.into_inner().plan);
        let plan = plan.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let found = self.0.find(&plan);
        let reply = found.map(|job| v1::FindReply { job: job.id.0, folder: job.folder.display().to_string() });
        Ok(Response::new(reply.unwrap_or_default()))
    }

    async fn status(&self, _: Request<v1::StatusRequest>) -> Result<Response<v1::StatusReply>, Status> {
        let status = serde_json::to_vec(&self.0.status_with_shortages().await)
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(v1::StatusReply { status }))
    }

    async fn speeds(&self, request: Request<v1::SpeedsRequest>) -> Result<Response<v1::SpeedsReply>, Status> {
        let backend = self.0.backend().ok_or_else(|| Status::failed_precondition("this master ends with its job"))?;
        let store = backend.speeds();
        let mut records = HashMap::new();
        for name in request.into_inner().names {
            let record = store.read(&name).await;
            let record = record
                .map_err(|error| refusal::to_status(Code::Unavailable, &Failure::of_store(&error).diagnostics))?;
            records.extend(record.map(|record| (name, record)));
        }
        Ok(Response::new(v1::SpeedsReply { records }))
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Result<Response<v1::CancelReply>, Status> {
        let v1::CancelRequest { job, reason } = request.into_inner();
        let job = self.0.job(&job)?;
        if let Some(ended) = &*job.ended.borrow() {
            let text = format!("job {} has ended already, with exit code {}", job.id, ended.exit_code);
            return Err(Status::failed_precondition(text));
        }
        if let Some(reason) = job.job_handle.cancelled() {
            return Err(Status::failed_precondition(format!("job {} was cancelled already: {reason}", job.id)));
        }
        // Durable first: a server that dies now must not go on with the job.
        if let Some(backend) = self.0.backend() {
            let kept = backend.cancel(&job.id, &reason).await;
            kept.map_err(|why| refusal::to_status(Code::Unavailable, &why))?;
        }
        job.job_handle.cancel(reason).await;
        Ok(Response::new(v1::CancelReply {}))
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Result<Response<v1::ExplainReply>, Status> {
        let v1::ExplainRequest { job, about } = request.into_inner();
        let lines = match about {
            Some(About::Worker(worker)) => self.0.explain_worker(&worker).await?,
            Some(About::Task(task)) => vec![self.0.explain_task(&self.0.job(&job)?, TaskId(task)).await?],
            None => self.0.explain_job(&self.0.job(&job)?).await,
        };
        Ok(Response::new(v1::ExplainReply { lines }))
    }

    async fn follow(&self, request: Request<v1::FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        let v1::FollowRequest { job, draws_bar } = request.into_inner();
        let job = self.0.job(&job)?;
        let job_log = job.job_log.clone();
        let job_log =
            job_log.ok_or_else(|| Status::failed_precondition("what this run says is on its own terminal"))?;
        let (sender, receiver) = mpsc::channel(FOLLOWED);
        tokio::spawn(follow(self.0.clone(), job, job_log, draws_bar, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

/// Sends what the job says until it ends, or the receiver is gone; to a client that draws a bar also how far it is.
async fn follow(
    registry: Arc<JobRegistry>,
    mut job: JobEntry,
    job_log: Arc<JobLog>,
    draws_bar: bool,
    sender: mpsc::Sender<Result<v1::FollowReply, Status>>,
) {
    let mut written = job_log.follow();
    let mut from = 0;
    let mut timer = tokio::time::interval(PROGRESS_EVERY);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // Looked at first: what was said before the end is sent before it.
        let ended = job.ended.borrow_and_update().clone();
        let (lines, next) = job_log.read(from);
        from = next;
        for line in lines {
            let body = Some(match line {
                LogLine::Progress(_) if draws_bar => continue,
                LogLine::Status(text) | LogLine::Progress(text) => Body::StatusLine(text),
                LogLine::Output(text) => Body::Output(text),
            });
            if sender.send(Ok(v1::FollowReply { body })).await.is_err() {
                return;
            }
        }
        if let Some(ended) = ended {
            let help = ended.help.unwrap_or_default();
            let ended = v1::Ended { exit_code: u32::from(ended.exit_code), reason: ended.reason, help };
            let _ = sender.send(Ok(v1::FollowReply { body: Some(Body::Ended(ended)) })).await;
            return;
        }
        tokio::select! {
            changed = written.changed() => if changed.is_err() { return },
            // The server is going down: the stream ends without an end of the job.
            changed = job.ended.changed() => if changed.is_err() { return },
            _ = timer.tick(), if draws_bar => {
                let body = Some(Body::Progress(progress(&registry, &job)));
                if sender.send(Ok(v1::FollowReply { body })).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}

/// Returns the present progress of a job.
fn progress(registry: &JobRegistry, job: &JobEntry) -> v1::JobProgress {
    let (doing, view) = job.job_handle.view();
    if !matches!(doing, "infer" | "execute") {
        return v1::JobProgress::default();
    }
    v1::JobProgress {
        stage: doing.to_owned(),
        recorded_samples: view.recorded_samples,
        expected_samples: view.expected_samples,
        slots: view.slots,
        failed_samples: view.given_up_samples,
        all_failed_samples: view.failed_samples,
        samples_per_second: view.samples_per_second,
        scores: view.scores(),
        waits_for_turn: view.slots == 0 && registry.waits_for_turn(job),
    }
}
