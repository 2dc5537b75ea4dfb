//! A master, as commands reach it.

use super::refusal;
use super::socket::{Live, SERVER, find, path_of};
use super::status::MasterStatus;
use super::usual::serve_command;
use crate::job::Failure;
use compass_cli::exit;
use compass_diagnostic::Diagnostic;
use compass_plan::Plan;
use compass_planning::Speeds;
use compass_planning::estimate::record_names;
use compass_proto::v1;
use compass_proto::v1::control_client::ControlClient;
use compass_types::ids::Digest;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// Longest time that a master may take to report its state: it answers at once, or hangs.
const STATUS: Duration = Duration::from_secs(3);
/// Longest time that it may take to explain something, which a scheduler is asked for.
const EXPLANATION: Duration = Duration::from_secs(10);
/// Interval of pings on a connection, and how long one may go unanswered: a server that is stopped keeps its connections open.
const PING: Duration = Duration::from_secs(30);

/// A connection to the control service of one master.
#[derive(Clone, Debug)]
pub(super) struct Master {
    client: ControlClient<Channel>,
    /// Name of the master where it does not answer.
    name: String,
}

/// A master that answers, and how it stands.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub master: Master,
    pub status: MasterStatus,
}

/// The masters of a state folder.
#[derive(Debug, Default)]
pub(super) struct Masters {
    /// A server first.
    pub known: Vec<Known>,
    /// Masters that do not answer, in words.
    pub silent: Vec<Failure>,
}

/// Converts a master's answer to a question that it could not serve.
pub(super) fn refused(status: &Status) -> Failure {
    let code = match status.code() {
        Code::NotFound | Code::FailedPrecondition | Code::InvalidArgument => exit::BAD_INPUT,
        _ => exit::INFRASTRUCTURE,
    };
    Failure::new(code, refusal::from_status(status))
}

impl Master {
    async fn connect(live: &Live) -> Option<Self> {
        let endpoint = Endpoint::from_shared(format!("unix:{}", live.path.display())).ok()?;
        let channel = endpoint.http2_keep_alive_interval(PING).keep_alive_timeout(PING).connect().await.ok()?;
        Some(Self { client: ControlClient::new(channel), name: name(live) })
    }

    /// Connects to a master and asks how it stands; `None` for one that is gone by now.
    async fn greet(live: Live) -> Option<Result<Known, Failure>> {
        let greeting = async {
            let mut master = Self::connect(&live).await?;
            Some(master.status().await.map(|status| Known { master, status }))
        };
        match tokio::time::timeout(STATUS, greeting).await {
            // One that ends at this very moment is as good as gone.
            Ok(known) => known?.ok().map(Ok),
            Err(_) => Some(Err(silent(&name(&live), STATUS))),
        }
    }

    /// Every master of a state folder. All are asked side by side: one that hangs hides no other.
    pub(super) async fn all(state_dir: &Path) -> Masters {
        let mut asked = JoinSet::new();
        for (at, live) in find(state_dir).await.live.into_iter().enumerate() {
            asked.spawn(async move { (at, Self::greet(live).await) });
        }
        let mut greeted = asked.join_all().await;
        greeted.sort_by_key(|(at, _)| *at);
        let mut masters = Masters::default();
        for greeted in greeted.into_iter().filter_map(|(_, greeted)| greeted) {
            match greeted {
                Ok(known) => masters.known.push(known),
                Err(failure) => masters.silent.push(failure),
            }
        }
        masters
    }

    /// The server of a state folder.
    ///
    /// # Errors
    /// There is none, or it hangs; what to do about it is said.
    pub(super) async fn server(state_dir: &Path) -> Result<Self, Failure> {
        Self::serving(state_dir, "server").await
    }

    /// Returns whether the server of a state folder has died or hangs, and a standby is about to take its place.
    pub(super) async fn is_in_succession(state_dir: &Path) -> bool {
        let has_died = find(state_dir).await.dead_server.is_some();
        let masters = Self::all(state_dir).await;
        let stands_by = masters.known.iter().any(|known| known.status.stands_by.is_some());
        stands_by && (has_died || !masters.silent.is_empty())
    }

    /// Returns whether both are connections to one process.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.name == other.name
    }

    /// As [`Self::server`], where any master would do: `wanted` is what the failure calls it.
    pub(super) async fn serving(state_dir: &Path, wanted: &str) -> Result<Self, Failure> {
        let found = find(state_dir).await;
        if let Some(live) = found.live.iter().find(|live| live.is_server)
            && let Some(greeted) = Self::greet(live.clone()).await
        {
            return greeted.map(|known| known.master);
        }
        let others = Self::all(state_dir).await.known;
        if let Some(for_whom) = others.into_iter().find_map(|known| known.status.stands_by) {
            return Err(stands_by(state_dir, &for_whom));
        }
        Err(missing(state_dir, found.dead_server, wanted))
    }

    /// Asks for the speeds of the architectures of `plan`, as the master's store has them.
    pub(super) async fn speeds(&mut self, plan: &Plan) -> Result<Speeds, Failure> {
        let request = v1::SpeedsRequest { names: record_names(plan).into_iter().collect() };
        let reply = self.client.speeds(request).await.map_err(|status| refused(&status))?.into_inner();
        Ok(Speeds::of(reply.records))
    }

    /// Returns its state.
    pub(super) async fn status(&mut self) -> Result<MasterStatus, Failure> {
        let reply = self.client.status(v1::StatusRequest {}).await.map_err(|status| refused(&status))?;
        let status = serde_json::from_slice(&reply.into_inner().status);
        status.map_err(|error| {
            let message = format!("the master is of another version, its status cannot be read: {error}");
            Failure::new(exit::INFRASTRUCTURE, Diagnostic::error(message))
        })
    }

    /// The folder of the job of this plan, while it runs.
    pub(super) async fn find(&mut self, plan: &Digest) -> Result<Option<PathBuf>, Failure> {
        let request = v1::FindRequest { plan: plan.0.to_vec() };
        let reply = self.client.find(request).await.map_err(|status| refused(&status))?.into_inner();
        Ok((!reply.folder.is_empty()).then(|| reply.folder.into()))
    }

    /// Hands a job over.
    pub(super) async fn submit(&mut self, job: Vec<u8>) -> Result<v1::SubmitReply, Failure> {
        let reply = self.client.submit(v1::SubmitRequest { job }).await;
        reply.map(tonic::Response::into_inner).map_err(|status| refused(&status))
    }

    pub(super) async fn cancel(&mut self, job: String, reason: String) -> Result<(), Failure> {
        let reply = self.client.cancel(v1::CancelRequest { job, reason }).await;
        reply.map(drop).map_err(|status| refused(&status))
    }

    pub(super) async fn explain(&mut self, request: v1::ExplainRequest) -> Result<Vec<String>, Failure> {
        let reply = tokio::time::timeout(EXPLANATION, self.client.explain(request)).await;
        let reply = reply.map_err(|_| silent(&self.name, EXPLANATION))?;
        reply.map(|reply| reply.into_inner().lines).map_err(|status| refused(&status))
    }

    pub(super) async fn follow(&mut self, job: String, draws_bar: bool) -> Result<Streaming<v1::FollowReply>, Failure> {
        let reply = self.client.follow(v1::FollowRequest { job, draws_bar }).await;
        reply.map(tonic::Response::into_inner).map_err(|status| refused(&status))
    }
}

/// Returns the name of a master that cannot give its own.
fn name(live: &Live) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    match live.process {
        Some(process) => format!("process {process} on {host}"),
        None => format!("the master at {}", live.path.display()),
    }
}

/// Returns the reason why a master that is there is of no use.
fn silent(name: &str, waited: Duration) -> Failure {
    let message = format!("{name} does not answer ({} s)", waited.as_secs());
    let help = "it was stopped (SIGCONT lets it go on), or hangs, or its host is overloaded";
    Failure::new(exit::INFRASTRUCTURE, Diagnostic::error(message).with_help(help))
}

/// Advice where to give commands that the server of this folder cannot serve while it stands by.
pub(super) const ASK_THE_LEADER: &str =
    "give the command on the host of the server that leads, with that one's state_dir (`--state-dir`)";

/// Returns the reason why the server of a state folder takes no job.
fn stands_by(state_dir: &Path, for_whom: &str) -> Failure {
    let message = format!("the server in {} stands by and takes no jobs: {for_whom}", state_dir.display());
    Failure::new(exit::INFRASTRUCTURE, Diagnostic::error(message).with_help(ASK_THE_LEADER))
}

/// Returns the reason why nothing answers in a state folder.
fn missing(state_dir: &Path, dead: Option<PathBuf>, wanted: &str) -> Failure {
    let shown = state_dir.display();
    let diagnostic = match dead {
        Some(socket) => Diagnostic::error(format!(
            "the server that worked in {shown} is gone: no process answers at {}",
            socket.display()
        ))
        .with_help(format!("start it again with {}; it goes on with its jobs", serve_command(state_dir))),
        None => Diagnostic::error(format!(
            "no {wanted} works in {shown}: there is no {}",
            path_of(state_dir, SERVER).display()
        ))
        .with_help(format!(
            "start one with {}; or name another's state_dir with `--state-dir`, or in [master] of the file",
            serve_command(state_dir)
        )),
    };
    Failure::new(exit::INFRASTRUCTURE, diagnostic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::planning::announce_standby;

    #[tokio::test]
    async fn a_master_that_hangs_hides_no_other() {
        let state = tempfile::tempdir().unwrap();
        let for_whom = "process 9 on vm serves; from here workers would dial 127.0.0.1:50172";
        let _announced = announce_standby(state.path(), for_whom.into());
        // As of a stopped process: connections are let in, and nothing reads them.
        let _hung = tokio::net::UnixListener::bind(path_of(state.path(), "run-1")).unwrap();
        let masters = Master::all(state.path()).await;
        let known: Vec<_> = masters.known.iter().map(|known| known.status.stands_by.as_deref()).collect();
        assert_eq!(known, [Some(for_whom)]);
        let silent: Vec<String> = masters.silent.iter().map(|failure| failure.diagnostics.message()).collect();
        let expected =
            format!("process {} on {} does not answer (3 s)", std::process::id(), masters.known[0].status.host);
        assert_eq!(silent, [expected]);
    }

    #[tokio::test]
    async fn a_server_that_stands_by_names_the_one_that_leads() {
        let state = tempfile::tempdir().unwrap();
        let for_whom = "process 9 on vm serves; from here workers would dial 127.0.0.1:50172";
        let _announced = announce_standby(state.path(), for_whom.into());
        let failure = Master::server(state.path()).await.unwrap_err();
        let said = failure.diagnostics.message();
        assert!(said.ends_with(&format!(" stands by and takes no jobs: {for_whom}")), "{said}");
        assert_eq!(failure.diagnostics.help(), Some(ASK_THE_LEADER));
    }

    #[tokio::test]
    async fn a_server_that_hangs_takes_no_job() {
        let state = tempfile::tempdir().unwrap();
        drop(announce_standby(state.path(), "nothing".into()));
        let _hung = tokio::net::UnixListener::bind(path_of(state.path(), SERVER)).unwrap();
        let failure = Master::server(state.path()).await.unwrap_err();
        assert!(failure.diagnostics.message().ends_with("does not answer (3 s)"), "{failure:?}");
    }
}
