//! The faults that a history draws from, by name.

use compass_types::seeded::Rng;

/// What goes wrong.
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
}

/// Name, and how often it is drawn beside the others.
const TABLE: [(&str, u64, Fault); 12] = [
    ("master-killed", 2, Fault::MasterKilled),
    ("master-stopped", 2, Fault::MasterStopped),
    ("worker-killed", 1, Fault::WorkerKilled),
    ("worker-stopped", 1, Fault::WorkerStopped),
    ("worker-wires", 2, Fault::WorkerWires),
    ("etcd-wires", 2, Fault::EtcdWires),
    ("member-killed", 2, Fault::MemberKilled),
    ("first-member", 2, Fault::FirstMember),
    ("bad-node", 1, Fault::BadNode),
    ("liar", 2, Fault::Liar),
    ("segment", 1, Fault::Segment),
    ("folder", 1, Fault::Folder),
];

/// Faults that may be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Faults(Vec<(u64, Fault)>);

impl Faults {
    /// All there are.
    pub(crate) fn all() -> Self {
        Self(TABLE.iter().map(|row| (row.1, row.2)).collect())
    }

    /// Names separated by commas; `None` where one is unknown.
    pub(crate) fn named(names: &str) -> Option<Self> {
        let of = |name: &str| TABLE.iter().find(|row| row.0 == name).map(|row| (row.1, row.2));
        names.split(',').map(of).collect::<Option<Vec<_>>>().map(Self)
    }

    /// All names, for the usage.
    pub(crate) fn names() -> String {
        TABLE.map(|row| row.0).join(",")
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> Fault {
        let mut at = rng.below(self.0.iter().map(|(weight, _)| weight).sum());
        for &(weight, fault) in &self.0 {
            if at < weight {
                return fault;
            }
            at -= weight;
        }
        Fault::MasterKilled
    }
}
