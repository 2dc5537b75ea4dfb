//! Three real etcds: the suite, and a leader of theirs that dies or stops.

use crate::stores::real::{Cluster, Commits, TIMEOUTS, config};
use crate::stores::suite::{conform, pairs, put};
use compass_store::{CoordinationStore, EtcdStore, LeadershipStatus};
use compass_tests::{Etcd, EtcdOptions};
use compass_types::ids::{Digest, Epoch};
use std::time::Duration;
use tokio::sync::watch;

#[tokio::test]
#[ignore = "nightly"]
async fn three_nodes_conform() {
    let Some(etcd) = Etcd::start("three_nodes_conform", 3, EtcdOptions::default()) else { return };
    conform(&Cluster::at(&etcd.endpoints()), "three etcds").await;
}

/// As many as show that the cluster takes commits.
const SOME: usize = 5;
const LEASE: Duration = Duration::from_secs(5);

/// Commits in a row while `trouble` happens to the cluster; every one must last, under one term.
async fn commits_through(
    test: &str,
    trouble: impl AsyncFn(&mut Etcd, &mut Commits, &mut watch::Receiver<LeadershipStatus>),
) {
    let Some(mut etcd) = Etcd::start(test, 3, EtcdOptions::default()) else { return };
    let timeouts = compass_store::StoreTimeouts { lease: LEASE, ..TIMEOUTS };
    let mut store = EtcdStore::open(&config(&etcd.endpoints()), &Digest::of(b"job"), timeouts).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    let mut status = store.status();
    let (stop, mut stopped) = watch::channel(false);
    let (told, mut commits) = Commits::counted();
    let work = tokio::spawn(async move {
        let mut count = 0;
        while !*stopped.borrow_and_update() {
            store.commit(&leadership, vec![put(&format!("n/{count:06}"), "x")]).await.unwrap();
            count += 1;
            told.send_replace(count);
        }
        (count, store)
    });
    commits.more(SOME).await;
    trouble(&mut etcd, &mut commits, &mut status).await;
    commits.more(SOME).await;
    stop.send(true).unwrap();
    let (count, store) = work.await.unwrap();
    eprintln!("{test}: {count} commits");
    assert_eq!(store.scan_all("n/").await.unwrap().len(), count);
    assert_ne!(*status.borrow(), LeadershipStatus::Lost);
    assert_eq!(pairs(&store.scan("n/", None, 1).await.unwrap()), [("n/000000", "x")]);
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_killed_leader_of_etcd_unseats_nobody_and_loses_nothing() {
    commits_through("a_killed_leader_of_etcd", async |etcd, commits, _| {
        for _ in 0..2 {
            let leader = etcd.leader();
            commits.more(SOME).await;
            etcd.kill(leader);
            // The others have elected one of theirs.
            commits.more(SOME).await;
            etcd.spawn(leader);
            etcd.wait_healthy();
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_stopped_leader_of_etcd_unseats_nobody_and_loses_nothing() {
    commits_through("a_stopped_leader_of_etcd", async |etcd, commits, _| {
        let leader = etcd.leader();
        etcd.signal(leader, "STOP");
        commits.more(SOME).await;
        etcd.signal(leader, "CONT");
        etcd.wait_healthy();
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_cluster_without_a_quorum_makes_commits_wait() {
    commits_through("a_cluster_without_a_quorum", async |etcd, _, status| {
        etcd.kill(0);
        etcd.kill(1);
        status.wait_for(|status| matches!(status, LeadershipStatus::Waiting { .. })).await.unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the outage outlasts the lease, and no lease ends without a quorum"
        )]
        tokio::time::sleep(LEASE).await;
        etcd.spawn(0);
        etcd.spawn(1);
        etcd.wait_healthy();
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_store_outlives_the_runtimes_that_ask_it() {
    let Some(mut etcd) = Etcd::start("a_store_outlives_the_runtimes", 3, EtcdOptions::default()) else { return };
    let leader = etcd.leader();
    let others = (0..3).filter(|&at| at != leader).map(|at| etcd.endpoint(at));
    let endpoints: Vec<_> = std::iter::once(etcd.endpoint(leader)).chain(others).collect();
    let mut store = EtcdStore::open(&config(&endpoints.join(",")), &Digest::of(b"job"), TIMEOUTS).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    etcd.kill(leader);
    // As the committer does, which ends before the run is scored: with its runtime end the tasks that it started.
    let asked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            store.commit(&leadership, vec![put("k", "v")]).await.unwrap();
            (store, leadership)
        })
    });
    let (mut store, leadership) = tokio::task::spawn_blocking(|| asked.join().unwrap()).await.unwrap();
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "v")]);
    store.commit(&leadership, vec![put("k", "w")]).await.unwrap();
    store.resign(&leadership).await.unwrap();
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_leader_reads_as_patiently_as_it_writes() {
    let Some(mut etcd) = Etcd::start("a_leader_reads_patiently", 3, EtcdOptions::default()) else { return };
    let timeouts = compass_store::StoreTimeouts { request: Duration::from_secs(2), ..TIMEOUTS };
    let place = config(&etcd.endpoints());
    let mut store = EtcdStore::open(&place, &Digest::of(b"job"), timeouts).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    store.commit(&leadership, vec![put("k", "v")]).await.unwrap();
    let idle = EtcdStore::open(&place, &Digest::of(b"job"), timeouts).unwrap();
    let mut status = store.status();
    etcd.kill(0);
    etcd.kill(1);
    let read = tokio::spawn(async move { (store.scan_all("k").await, store) });
    status.wait_for(|status| matches!(status, LeadershipStatus::Waiting { .. })).await.unwrap();
    // A master that does not lead has nothing to lose, and hears soon that the store is away.
    assert!(idle.scan_all("k").await.is_err());
    assert!(!read.is_finished());
    etcd.spawn(0);
    etcd.spawn(1);
    let (found, store) = read.await.unwrap();
    assert_eq!(pairs(&found.unwrap()), [("k", "v")]);
    assert_eq!(*store.status().borrow(), LeadershipStatus::Sure);
}
