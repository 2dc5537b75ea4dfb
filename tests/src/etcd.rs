//! Real etcd clusters on free ports on this host, in a temporary folder, to be killed and brought back.

use crate::ports::free_port;
use crate::processes::{kill, wait_until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Settings with which a cluster is started.
#[derive(Clone, Debug, Default)]
pub struct EtcdOptions {
    /// Further flags of every member.
    pub flags: Vec<String>,
    /// Certificate, key and authority for encrypted clients, PEM.
    pub tls: Option<(PathBuf, PathBuf, PathBuf)>,
}

struct Member {
    process: Option<Child>,
    client: u16,
    peer: u16,
}

/// Cluster of real etcd members. Dropping it ends every member.
pub struct Etcd {
    folder: tempfile::TempDir,
    options: EtcdOptions,
    program: PathBuf,
    members: Vec<Member>,
}

impl Etcd {
    /// Finds etcd: COMPASS_ETCD, or on PATH. Without it says loudly that `test` is skipped.
    pub fn program(test: &str) -> Option<PathBuf> {
        let named = std::env::var_os("COMPASS_ETCD").map(PathBuf::from);
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let found =
            named.or_else(|| std::env::split_paths(&on_path).map(|folder| folder.join("etcd")).find(|p| p.is_file()));
        if found.is_none() {
            let remedy = "apt-get install etcd-server, or name it by COMPASS_ETCD";
            compass_needs::skipped(compass_needs::Need::Etcd, format_args!("{test} needs etcd on PATH ({remedy})"));
        }
        found
    }

    /// A cluster of this many members that is ready; `None` where etcd is not installed, which is reported.
    pub fn start(test: &str, members: usize, options: EtcdOptions) -> Option<Self> {
        let program = Self::program(test)?;
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable!("no temporary folder: {error}"));
        let members = (0..members).map(|_| Member { process: None, client: free_port(), peer: free_port() }).collect();
        let mut cluster = Self { folder, options, program, members };
        (0..cluster.members.len()).for_each(|at| cluster.spawn(at));
        cluster.wait_healthy();
        Some(cluster)
    }

    /// `host:port` of every member, joined by commas.
    pub fn endpoints(&self) -> String {
        let endpoints: Vec<_> = (0..self.members.len()).map(|at| self.endpoint(at)).collect();
        endpoints.join(",")
    }

    /// `host:port` of one member.
    pub fn endpoint(&self, at: usize) -> String {
        format!("127.0.0.1:{}", self.members[at].client)
    }

    /// The folder of the cluster.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a member that is not running, on its old data.
    pub fn spawn(&mut self, at: usize) {
        let scheme = if self.options.tls.is_some() { "https" } else { "http" };
        let peer = |member: &Member| format!("http://127.0.0.1:{}", member.peer);
        let names = self.members.iter().enumerate().map(|(at, member)| format!("n{at}={}", peer(member)));
        let cluster = names.collect::<Vec<_>>().join(",");
        let member = &self.members[at];
        let client = format!("{scheme}://127.0.0.1:{}", member.client);
        let data = self.folder.path().join(format!("n{at}"));
        let log = std::fs::File::options().create(true).append(true).open(data.with_extension("log"));
        let mut command = Command::new(&self.program);
        command.arg("--name").arg(format!("n{at}")).arg("--data-dir").arg(&data);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer(member), "--initial-advertise-peer-urls", &peer(member)]);
        command.args(["--initial-cluster", &cluster, "--initial-cluster-state", "new"]);
        command.args(["--logger", "zap", "--log-level", "warn"]).args(&self.options.flags);
        if let Some((cert, key, ca)) = &self.options.tls {
            command.arg("--cert-file").arg(cert).arg("--key-file").arg(key);
            command.arg("--trusted-ca-file").arg(ca).arg("--client-cert-auth");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.map_or_else(|_| Stdio::null(), Stdio::from));
        let process = command.spawn().unwrap_or_else(|error| unreachable!("cannot start etcd: {error}"));
        self.members[at].process = Some(process);
    }

    /// Ends a member as a power cut would.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut process) = self.members[at].process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Sends a signal to a member: STOP, CONT.
    pub fn signal(&self, at: usize, signal: &str) {
        if let Some(process) = &self.members[at].process {
            kill(process.id(), signal);
        }
    }

    /// Waits until every running member knows a leader.
    pub fn wait_healthy(&self) {
        if self.options.tls.is_some() {
            // Without a certificate of ours one can only see that it listens; clients wait for the rest.
            let all = || (0..self.members.len()).all(|at| TcpStream::connect(self.endpoint(at)).is_ok());
            return wait_until("etcd listens", || all().then_some(()));
        }
        wait_until("etcd is healthy", || {
            let running = (0..self.members.len()).filter(|&at| self.members[at].process.is_some());
            running.map(|at| self.status(at)).all(|status| status.is_some_and(|(_, leader)| leader != 0)).then_some(())
        });
    }

    /// The member that leads the cluster.
    pub fn leader(&self) -> usize {
        wait_until("etcd has a leader", || {
            (0..self.members.len()).find(|&at| self.status(at).is_some_and(|(member, leader)| member == leader))
        })
    }

    /// Makes a member lead the cluster, where that can be; whether it does.
    pub fn lead(&self, at: usize) -> bool {
        let Some((member, leader)) = self.status(at) else { return false };
        if member == leader {
            return true;
        }
        let leads = |at: &usize| self.status(*at).is_some_and(|(member, leader)| member == leader);
        let Some(leading) = (0..self.members.len()).find(leads) else { return false };
        let order = format!("{{\"targetID\": \"{member}\"}}");
        post(&self.endpoint(leading), "/v3/maintenance/transfer-leadership", &order);
        leads(&at)
    }

    /// Number of leases that the first member knows and that have not run out; `None` where it does not answer.
    pub fn lease_count(&self) -> Option<usize> {
        let reply = post(&self.endpoint(0), "/v3/lease/leases", "{}")?;
        let known: serde_json::Value = serde_json::from_str(&reply).ok()?;
        // A list without entries is left out.
        known["header"].is_object().then(|| known["leases"].as_array().map_or(0, Vec::len))
    }

    /// Ids of a member and of the leader that it knows.
    fn status(&self, at: usize) -> Option<(u64, u64)> {
        self.members[at].process.as_ref()?;
        let reply = post(&self.endpoint(at), "/v3/maintenance/status", "{}")?;
        let status: serde_json::Value = serde_json::from_str(&reply).ok()?;
        let id = |value: &serde_json::Value| value.as_str().and_then(|text| text.parse().ok());
        Some((id(&status["header"]["member_id"])?, id(&status["leader"]).unwrap_or(0)))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|at| self.kill(at));
    }
}

/// One request to etcd's JSON gateway: the body of the answer.
fn post(address: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    let length = body.len();
    let request =
        format!("POST {path} HTTP/1.0\r\nHost: etcd\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}
