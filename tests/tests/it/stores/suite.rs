//! Promises of every store, as one suite. A backend is a [`Bench`]; it may open a store for several masters.

use compass_store::{CoordinationStore, Damage, Leadership, LeadershipStatus, MAX_OPS, Op, StoreError};
use compass_types::ids::{Digest, Epoch};
use std::future::Future;

/// A backend under test.
pub(crate) trait Bench {
    type Store: CoordinationStore + 'static;

    /// The store of one more master of `job`.
    fn open(&self, job: &Digest) -> Result<Self::Store, StoreError>;

    /// The master of this store dies without a word; returns when its lead is over.
    fn die(&self, job: &Digest, store: Self::Store) -> impl Future<Output = ()>;

    /// The lead lapses while its master, which is cut off, does not notice. For shared stores only.
    fn lapse(&self, job: &Digest) -> impl Future<Output = ()>;

    /// Members that were cut off reach the store again.
    fn wake(&self);

    /// Writes `value`, as no master does, at the key `name` of the term of `job`. For shared stores only.
    fn spoil(&self, job: &Digest, name: &str, value: &str) -> impl Future<Output = ()>;

    /// Removes that key, as a person does.
    fn unspoil(&self, job: &Digest, name: &str) -> impl Future<Output = ()>;

    /// Returns whether several masters can have the store open.
    fn is_shared(&self) -> bool;
}

pub(crate) fn put(key: &str, value: &str) -> Op {
    Op::Put { key: key.into(), value: value.into() }
}

pub(crate) fn pairs(found: &[(String, Vec<u8>)]) -> Vec<(&str, &str)> {
    found.iter().map(|(key, value)| (key.as_str(), std::str::from_utf8(value).unwrap())).collect()
}

pub(crate) async fn lead<B: Bench>(bench: &B, job: &Digest, name: &str) -> (B::Store, Leadership) {
    let mut store = bench.open(job).unwrap();
    let leadership = store.campaign(name, Epoch(0)).await.unwrap();
    (store, leadership)
}

/// Runs every case; each has a job of its own.
pub(crate) async fn conform<B: Bench>(bench: &B, label: &str) {
    let job = |case: &str| {
        eprintln!("{label}: {case}");
        Digest::of(format!("{label} {case}").as_bytes())
    };
    epochs_grow(bench, &job("epochs grow, whatever ends a term")).await;
    commits_last(bench, &job("commits last, whole and in order")).await;
    old_epochs_are_fenced(bench, &job("old epochs are fenced")).await;
    pages(bench, &job("scans go page by page within the prefix")).await;
    bounds(bench, &job("a commit has a bound")).await;
    resigned(bench, &job("who resigns leads no more, and the next one may")).await;
    held(bench, &job("a second master is told who leads")).await;
    unreadable(bench, &job("a key that cannot be read is said with what to do")).await;
    if bench.is_shared() {
        damaged_leader(bench, &job("a leader's record of another version is not waited for")).await;
        damaged_term(bench, &job("a damaged key of a term ends it with what to do")).await;
        one_wins(bench, &job("of many candidates one wins")).await;
        vacancy(bench, &job("a standby is told that there is no leader")).await;
        zombie(bench, &job("a leader that slept too long is fenced")).await;
        lapsed(bench, &job("a lead that lapsed is taken again if no other master led meanwhile")).await;
    }
}

async fn epochs_grow<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, first) = lead(bench, job, "a").await;
    store.resign(&first).await.unwrap();
    drop(store);
    let (store, second) = lead(bench, job, "b").await;
    bench.die(job, store).await;
    let mut store = bench.open(job).unwrap();
    let third = store.campaign("c", Epoch(7)).await.unwrap();
    assert_eq!((first.epoch, second.epoch, third.epoch), (Epoch(1), Epoch(2), Epoch(8)));
}

async fn commits_last<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, leadership) = lead(bench, job, "a").await;
    store.commit(&leadership, vec![put("k/1", "one"), put("k/2", "two"), put("k/1", "uno")]).await.unwrap();
    store.commit(&leadership, vec![Op::Delete { key: "k/2".into() }, put("k/3", "three")]).await.unwrap();
    store.commit(&leadership, vec![put("k/3", ""), Op::Delete { key: "k/9".into() }]).await.unwrap();
    bench.die(job, store).await;
    let (store, _) = lead(bench, job, "b").await;
    assert_eq!(pairs(&store.scan_all("k/").await.unwrap()), [("k/1", "uno"), ("k/3", "")]);
}

async fn old_epochs_are_fenced<B: Bench>(bench: &B, job: &Digest) {
    let (store, first) = lead(bench, job, "a").await;
    bench.die(job, store).await;
    let (mut store, second) = lead(bench, job, "b").await;
    let late = store.commit(&first, vec![put("k", "late")]).await;
    assert!(matches!(late, Err(StoreError::Fenced(epoch)) if epoch == first.epoch), "{late:?}");
    assert!(store.scan_all("k").await.unwrap().is_empty());
    drop((store, second));
}

async fn pages<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, leadership) = lead(bench, job, "a").await;
    let ops: Vec<Op> = (0..1201).map(|at| put(&format!("p/{at:05}"), "x")).collect();
    for part in ops.chunks(MAX_OPS) {
        store.commit(&leadership, part.to_vec()).await.unwrap();
    }
    store.commit(&leadership, vec![put("q/0", "other"), put("o/9", "other"), put("p", "other")]).await.unwrap();
    let all = store.scan_all("p/").await.unwrap();
    assert_eq!(all.len(), 1201);
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(pairs(&store.scan("p/", Some("p/00041"), 2).await.unwrap()), [("p/00042", "x"), ("p/00043", "x")]);
    assert!(store.scan("p/", Some("p/01200"), 5).await.unwrap().is_empty());
    assert!(store.scan_all("none/").await.unwrap().is_empty());
}

async fn bounds<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, leadership) = lead(bench, job, "a").await;
    let many = |count: usize| (0..count).map(|at| put(&format!("k/{at}"), "x")).collect::<Vec<_>>();
    store.commit(&leadership, many(MAX_OPS)).await.unwrap();
    let refused = store.commit(&leadership, many(MAX_OPS + 1)).await;
    assert!(matches!(refused, Err(StoreError::TooLarge(_))), "{refused:?}");
    store.commit(&leadership, vec![put("k/last", "x")]).await.unwrap();
    assert_eq!(store.scan_all("k/").await.unwrap().len(), MAX_OPS + 1);
}

async fn resigned<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, leadership) = lead(bench, job, "a").await;
    store.commit(&leadership, vec![put("k", "kept")]).await.unwrap();
    store.resign(&leadership).await.unwrap();
    store.resign(&leadership).await.unwrap();
    assert!(matches!(store.commit(&leadership, vec![put("k", "late")]).await, Err(StoreError::Fenced(_))));
    assert_eq!(store.leader().await.unwrap(), None);
    drop(store);
    let (store, next) = lead(bench, job, "b").await;
    assert_eq!(next.epoch, Epoch(leadership.epoch.0 + 1));
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "kept")]);
}

async fn held<B: Bench>(bench: &B, job: &Digest) {
    let (store, leadership) = lead(bench, job, "process 17 on host h").await;
    let second = match bench.open(job) {
        Ok(mut second) => second.campaign("b", Epoch(0)).await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(&second, Err(StoreError::Held { holder }) if holder == "process 17 on host h"), "{second:?}");
    let leader = store.leader().await.unwrap().unwrap();
    assert_eq!((leader.holder.as_str(), leader.epoch), ("process 17 on host h", leadership.epoch));
}

async fn one_wins<B: Bench>(bench: &B, job: &Digest) {
    let mut candidates = Vec::new();
    for at in 0..8 {
        let mut store = bench.open(job).unwrap();
        let campaign = async move { store.campaign(&format!("m{at}"), Epoch(0)).await.map(|won| (won, store)) };
        candidates.push(tokio::spawn(campaign));
    }
    let mut winners = Vec::new();
    for candidate in candidates {
        match candidate.await.unwrap() {
            Ok(winner) => winners.push(winner),
            Err(error) => assert!(matches!(error, StoreError::Held { .. }), "{error}"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(winners[0].0.epoch, Epoch(1));
}

async fn vacancy<B: Bench>(bench: &B, job: &Digest) {
    for dies in [false, true] {
        let (mut store, leadership) = lead(bench, job, "a").await;
        let standby = bench.open(job).unwrap();
        let waiting = tokio::spawn(async move { standby.vacancy().await });
        store.commit(&leadership, vec![put("k", "busy")]).await.unwrap();
        assert!(!waiting.is_finished());
        if dies {
            bench.die(job, store).await;
        } else {
            store.resign(&leadership).await.unwrap();
        }
        waiting.await.unwrap().unwrap();
    }
}

async fn zombie<B: Bench>(bench: &B, job: &Digest) {
    let (mut zombie, old) = lead(bench, job, "a").await;
    zombie.commit(&old, vec![put("k", "early")]).await.unwrap();
    bench.lapse(job).await;
    let (mut store, new) = lead(bench, job, "b").await;
    bench.wake();
    let mut status = zombie.status();
    let late = zombie.commit(&old, vec![put("k", "late")]).await;
    assert!(matches!(late, Err(StoreError::Fenced(_))), "{late:?}");
    status.wait_for(|status| *status == LeadershipStatus::Lost).await.unwrap();
    store.commit(&new, vec![put("l", "next")]).await.unwrap();
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "early")]);
    assert!(new.epoch > old.epoch);
}

async fn lapsed<B: Bench>(bench: &B, job: &Digest) {
    let (mut store, leadership) = lead(bench, job, "a").await;
    bench.lapse(job).await;
    bench.wake();
    store.commit(&leadership, vec![put("k", "still")]).await.unwrap();
    let second = bench.open(job).unwrap().campaign("b", Epoch(0)).await;
    assert!(matches!(&second, Err(StoreError::Held { holder }) if holder == "a"), "{second:?}");
    store.commit(&leadership, vec![put("l", "on")]).await.unwrap();
    assert_eq!(*store.status().borrow(), LeadershipStatus::Sure);
}

/// The remedy for a damaged key: the command for a key of etcd, the file for an embedded store.
fn remedy<T: std::fmt::Debug>(result: Result<T, StoreError>, key: &str) {
    let Err(error) = result else { unreachable!("{key} was read: {result:?}") };
    assert!(!error.is_retryable(), "{error}");
    let text = match &error {
        StoreError::Damaged { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    };
    let says = text.contains("remove it: etcdctl del ") || text.contains("remove it and resume");
    assert!(says && text.contains(key), "{text}");
}

async fn unreadable<B: Bench>(bench: &B, job: &Digest) {
    let (store, _) = lead(bench, job, "a").await;
    let garbage = ["jobs/x/segments/00000001-m", "jobs/x/leases/0000000000000001/0000000000000000", "jobs/x/run"];
    for key in garbage {
        remedy::<()>(Err(store.damaged(Damage::segment(key))), key);
    }
}

async fn damaged_leader<B: Bench>(bench: &B, job: &Digest) {
    // Without a lease: nothing would ever end it.
    for record in ["\u{0}\u{1}garbage", "v9 {\"holder\": \"m\"}", "7 0123abcd a master that no lease ends"] {
        bench.spoil(job, "leader", record).await;
        let mut store = bench.open(job).unwrap();
        remedy(store.campaign("b", Epoch(0)).await, "/leader");
        remedy(store.leader().await, "/leader");
        remedy(store.vacancy().await, "/leader");
    }
    bench.unspoil(job, "leader").await;
    bench.spoil(job, "epoch", "seven").await;
    let mut store = bench.open(job).unwrap();
    remedy(store.campaign("b", Epoch(3)).await, "/epoch");
    bench.unspoil(job, "epoch").await;
    let leadership = bench.open(job).unwrap().campaign("b", Epoch(3)).await.unwrap();
    assert_eq!(leadership.epoch, Epoch(4), "the ledger tells how far epochs went");
}

async fn damaged_term<B: Bench>(bench: &B, job: &Digest) {
    for key in ["commits", "leader"] {
        let (mut store, leadership) = lead(bench, job, "a").await;
        store.commit(&leadership, vec![put("k", "v")]).await.unwrap();
        bench.spoil(job, key, "garbage").await;
        remedy(store.commit(&leadership, vec![put("k", "late")]).await, &format!("/{key}"));
        assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "v")]);
        store.resign(&leadership).await.unwrap();
        drop(store);
        bench.unspoil(job, key).await;
    }
}
