//! The faults that a history draws from, by name.

use compass_types::seeded::Rng;

/// A fault of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    MasterKilled,
    MasterStopped,
    WorkerKilled,
    WorkerStopped,
    /// The ways between a worker and all masters.
    WorkerWires,
    /// The ways between a master and one member of etcd, or all.
    EtcdWires,
    MemberKilled,
    /// The member that `store` names first becomes the leader of etcd, and dies for longer than a lease.
    FirstMember,
    /// A worker joins that lacks the model's files.
    BadNode,
    /// A worker joins that reports results for samples that it was not granted, all of them false.
    Liar,
    /// The leader's segment of the ledger is deleted.
    Segment,
    /// The run folder is moved away, and back.
    Folder,
    /// Pipes lie where files are expected.
    Pipes,
    /// Slurm cancels a worker's job.
    SlurmJob,
    /// `sbatch` says that it failed, and did not.
    Sbatch,
}

/// Kind of the histories that a fault can befall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two masters of one run.
    Run,
    /// Two servers whose jobs run under a Slurm.
    Served,
}

const RUN: &[Kind] = &[Kind::Run];
const SERVED: &[Kind] = &[Kind::Served];
const BOTH: &[Kind] = &[Kind::Run, Kind::Served];

/// Name, how often it is drawn beside the others, and what it can befall.
const TABLE: [(&str, u64, Fault, &[Kind]); 15] = [
    ("master-killed", 2, Fault::MasterKilled, BOTH),
    ("master-stopped", 2, Fault::MasterStopped, BOTH),
    ("worker-killed", 1, Fault::WorkerKilled, RUN),
    ("worker-stopped", 1, Fault::WorkerStopped, RUN),
    ("worker-wires", 2, Fault::WorkerWires, RUN),
    ("etcd-wires", 2, Fault::EtcdWires, RUN),
    ("member-killed", 2, Fault::MemberKilled, BOTH),
    ("first-member", 2, Fault::FirstMember, RUN),
    ("bad-node", 1, Fault::BadNode, RUN),
    ("liar", 2, Fault::Liar, RUN),
    ("segment", 1, Fault::Segment, RUN),
    ("folder", 1, Fault::Folder, RUN),
    ("pipes", 1, Fault::Pipes, BOTH),
    ("slurm-job", 2, Fault::SlurmJob, SERVED),
    ("sbatch", 2, Fault::Sbatch, SERVED),
];

/// Faults that may be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Faults(Vec<(u64, Fault, &'static [Kind])>);

impl Faults {
    /// All there are.
    pub(crate) fn all() -> Self {
        Self(TABLE.iter().map(|row| (row.1, row.2, row.3)).collect())
    }

    /// Names separated by commas; `None` where one is unknown.
    pub(crate) fn named(names: &str) -> Option<Self> {
        let of = |name: &str| TABLE.iter().find(|row| row.0 == name).map(|row| (row.1, row.2, row.3));
        names.split(',').map(of).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns the faults that can befall histories of a kind.
    pub(crate) fn of(&self, kind: Kind) -> Self {
        Self(self.0.iter().filter(|row| row.2.contains(&kind)).copied().collect())
    }

    /// All names, for the usage.
    pub(crate) fn names() -> String {
        TABLE.map(|row| row.0).join(",")
    }

    /// One of them; `None` without any.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<Fault> {
        let all = self.0.iter().map(|row| row.0).sum();
        let mut at = if all == 0 { return None } else { rng.below(all) };
        self.0.iter().find_map(|&(weight, fault, _)| {
            let is_it = at < weight;
            at = at.saturating_sub(weight);
            is_it.then_some(fault)
        })
    }
}
