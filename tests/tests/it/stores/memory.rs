//! The suite on the simulated and on the embedded store, and the simulated one under losses.

use crate::stores::suite::{Bench, conform, lead, pairs, put};
use compass_store::{
    CoordinationStore, EmbeddedStore, Fate, FencedStore, Keys, SimBackend, SimWorld, Step, StoreError, StoreTimeouts,
    Transaction,
};
use compass_types::ids::{Digest, Epoch};
use std::time::Duration;

const TIMEOUTS: StoreTimeouts =
    StoreTimeouts { lease: Duration::from_secs(5), request: Duration::from_secs(60), commit: Duration::from_secs(60) };

struct Sim(SimWorld);

impl Bench for Sim {
    type Store = FencedStore<SimBackend>;

    fn open(&self, job: &Digest) -> Result<Self::Store, StoreError> {
        Ok(self.0.open(&format!("compass/{}", job.short()), job, TIMEOUTS))
    }

    async fn die(&self, _job: &Digest, store: Self::Store) {
        drop(store);
        self.0.pass(TIMEOUTS.lease);
    }

    async fn lapse(&self, _job: &Digest) {
        self.0.pass(TIMEOUTS.lease);
    }

    fn wake(&self) {}

    async fn spoil(&self, job: &Digest, name: &str, value: &str) {
        self.unspoil(job, name).await;
        let step = Step::Put { key: key(job, name), value: value.into(), lease: 0 };
        self.0.inspect(|now, store| store.transact(now, Fate::Arrives, &write(step))).unwrap();
    }

    async fn unspoil(&self, job: &Digest, name: &str) {
        let step = Step::Delete { key: key(job, name) };
        self.0.inspect(|now, store| store.transact(now, Fate::Arrives, &write(step))).unwrap();
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// A key of the term of `job`.
fn key(job: &Digest, name: &str) -> String {
    format!("compass/{}/{}/{name}", job.short(), Keys::place(job))
}

fn write(step: Step) -> Transaction {
    Transaction { then: vec![step], ..Transaction::default() }
}

struct Embedded(tempfile::TempDir);

impl Bench for Embedded {
    type Store = EmbeddedStore;

    fn open(&self, job: &Digest) -> Result<Self::Store, StoreError> {
        EmbeddedStore::open(self.0.path(), &job.short())
    }

    async fn die(&self, _job: &Digest, store: Self::Store) {
        drop(store);
    }

    async fn lapse(&self, _job: &Digest) {}

    fn wake(&self) {}

    async fn spoil(&self, _job: &Digest, _name: &str, _value: &str) {}

    async fn unspoil(&self, _job: &Digest, _name: &str) {}

    fn is_shared(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn the_simulated_store_conforms() {
    conform(&Sim(SimWorld::default()), "sim").await;
}

#[tokio::test]
async fn the_embedded_store_conforms() {
    conform(&Embedded(tempfile::tempdir().unwrap()), "embedded").await;
}

#[tokio::test]
async fn the_simulated_store_conforms_when_requests_and_replies_are_lost() {
    for seed in 0..20 {
        conform(&Sim(SimWorld::with_loss(200, seed)), &format!("sim with losses, seed {seed}")).await;
    }
}

#[tokio::test]
async fn every_commit_takes_place_once_whatever_is_lost() {
    for seed in 0..3 {
        let bench = Sim(SimWorld::with_loss(300, seed));
        let job = Digest::of(&[seed as u8]);
        let (mut store, leadership) = lead(&bench, &job, "a").await;
        let begin = bench.0.inspect(|_, store| store.revision());
        for at in 0..60 {
            let count = at.to_string();
            store.commit(&leadership, vec![put("last", &count), put(&format!("each/{at:03}"), &count)]).await.unwrap();
        }
        let end = bench.0.inspect(|_, store| store.revision());
        assert_eq!(end - begin, 60, "seed {seed}: one revision for each commit");
        assert_eq!(pairs(&store.scan_all("last").await.unwrap()), [("last", "59")]);
    }
}

#[tokio::test]
async fn a_request_that_arrives_late_changes_nothing() {
    use compass_store::{Campaigned, Candidacy, CommitOutcome, Names, Op, SimStore};
    let mut store = SimStore::default();
    let mut candidacy = Candidacy::new(Names::below("j/"), "a", "nonce", Epoch(0));
    let lease = store.grant(0, 5_000);
    let reply = store.transact(0, Fate::Arrives, &candidacy.transaction(lease)).unwrap();
    let Campaigned::Won(mut term) = candidacy.judge(lease, &reply) else { panic!("there is no other candidate") };
    let length = |bytes: &str| [Op::Put { key: "length".into(), value: bytes.into() }];
    // The first request hangs somewhere; its repetition and a later commit overtake it.
    let delayed = term.commit(&length("100"));
    for bytes in ["100", "200"] {
        let reply = store.transact(1, Fate::Arrives, &term.commit(&length(bytes))).unwrap();
        assert_eq!(term.judge(&reply), CommitOutcome::Durable);
    }
    assert!(!store.transact(2, Fate::Arrives, &delayed).unwrap().applied);
    assert_eq!(store.get(3, "length").unwrap().value, b"200");
}
