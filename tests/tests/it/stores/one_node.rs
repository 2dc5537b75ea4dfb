//! One real etcd: the suite, and what can befall a single node and the way to it.

use crate::stores::real::{Cluster, Commits, TIMEOUTS, config};
use crate::stores::suite::{conform, pairs, put};
use compass_store::{CoordinationStore, EtcdStore, LeadershipStatus, StoreError, StoreTimeouts};
use compass_tests::{Etcd, EtcdOptions, Mood, Proxy};
use compass_types::ids::{Digest, Epoch};
use etcd_client::{AlarmAction, AlarmOptions, AlarmType, Client};
use std::time::Duration;
use tokio::sync::watch;

fn job() -> Digest {
    Digest::of(b"job")
}

#[tokio::test]
#[ignore = "nightly"]
async fn one_node_conforms() {
    match std::env::var("COMPASS_TEST_ETCD") {
        Ok(endpoints) => conform(&Cluster::at(&endpoints), "etcd of COMPASS_TEST_ETCD").await,
        Err(_) => {
            let Some(etcd) = Etcd::start("one_node_conforms", 1, EtcdOptions::default()) else { return };
            conform(&Cluster::at(&etcd.endpoints()), "one etcd").await;
        }
    }
}

#[tokio::test]
#[ignore = "nightly"]
async fn commits_wait_while_etcd_is_away_and_the_lead_stays() {
    let Some(mut etcd) = Etcd::start("commits_wait_while_etcd_is_away", 1, EtcdOptions::default()) else { return };
    let mut store = EtcdStore::open(&config(&etcd.endpoints()), &job(), TIMEOUTS).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    let mut status = store.status();
    etcd.kill(0);
    let commit = tokio::spawn(async move {
        let done = store.commit(&leadership, vec![put("k", "v")]).await;
        (done, store)
    });
    status.wait_for(|status| matches!(status, LeadershipStatus::Waiting { .. })).await.unwrap();
    // A lease begins again when etcd comes back.
    #[expect(
        clippy::disallowed_methods,
        reason = "the outage outlasts the lease, and no lease ends while etcd is away"
    )]
    tokio::time::sleep(TIMEOUTS.lease * 2).await;
    assert!(!commit.is_finished());
    etcd.spawn(0);
    let (done, store) = commit.await.unwrap();
    done.unwrap();
    assert_eq!(*status.borrow(), LeadershipStatus::Sure);
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "v")]);
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_bad_way_to_etcd_loses_and_doubles_nothing() {
    let Some(etcd) = Etcd::start("a_bad_way_to_etcd", 1, EtcdOptions::default()) else { return };
    let proxy = Proxy::start(&etcd.endpoint(0));
    let mut store = EtcdStore::open(&config(&proxy.address()), &job(), TIMEOUTS).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    let mut status = store.status();
    let (over, mut heard) = watch::channel(false);
    let (told, mut commits) = Commits::counted();
    let trouble = async {
        for mood in [Mood::Cut, Mood::Delay(Duration::from_millis(100)), Mood::HalfOpen, Mood::Pass].repeat(2) {
            proxy.set(mood);
            match mood {
                Mood::Cut | Mood::HalfOpen => {
                    status.wait_for(|status| matches!(status, LeadershipStatus::Waiting { .. })).await.unwrap();
                }
                Mood::Delay(_) | Mood::Pass => {
                    commits.more(5).await;
                    status.wait_for(|status| *status == LeadershipStatus::Sure).await.unwrap();
                }
            }
        }
        over.send_replace(true);
    };
    let work = async {
        let mut count = 0;
        while !*heard.borrow_and_update() {
            let ops = vec![put("last", &count.to_string()), put(&format!("n/{count:06}"), "x")];
            store.commit(&leadership, ops).await.unwrap();
            count += 1;
            told.send_replace(count);
        }
        count
    };
    let ((), count) = tokio::join!(trouble, work);
    assert_eq!(pairs(&store.scan_all("last").await.unwrap()), [("last", (count - 1).to_string().as_str())]);
    assert_eq!(store.scan_all("n/").await.unwrap().len(), count);
    let commits = client(&etcd).await.get(format!("jobs/{}/commits", job()), None).await.unwrap();
    assert!(commits.kvs().is_empty(), "keys lie below the prefix");
}

/// Waits until `holds`, without holding up others on this thread.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        #[expect(clippy::disallowed_methods, reason = "polls a proxy; what it waits for is a connection")]
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn client(etcd: &Etcd) -> Client {
    Client::connect([etcd.endpoint(0)], None).await.unwrap()
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_standby_survives_compaction_and_broken_watches() {
    let Some(etcd) = Etcd::start("a_standby_survives_compaction", 1, EtcdOptions::default()) else { return };
    let proxy = Proxy::start(&etcd.endpoint(0));
    let place = config(&etcd.endpoints());
    let mut store = EtcdStore::open(&place, &job(), TIMEOUTS).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    let way = compass_settings::EtcdConfig { endpoints: vec![proxy.address()], ..place };
    let standby = EtcdStore::open(&way, &job(), TIMEOUTS).unwrap();
    let waiting = tokio::spawn(async move { standby.vacancy().await });
    for round in 0..5 {
        for at in 0..20 {
            store.commit(&leadership, vec![put("k", &format!("{round} {at}"))]).await.unwrap();
        }
        let mut client = client(&etcd).await;
        let now = client.get("none", None).await.unwrap().header().unwrap().revision();
        client.compact(now, None).await.unwrap();
        let before = proxy.connections();
        proxy.set(if round % 2 == 0 { Mood::Cut } else { Mood::Pass });
        // The standby calls again.
        until(|| proxy.connections() > before).await;
    }
    proxy.set(Mood::Pass);
    assert!(!waiting.is_finished());
    store.resign(&leadership).await.unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_full_etcd_makes_commits_wait_and_keeps_the_lead() {
    let flags = vec!["--quota-backend-bytes".to_owned(), "2000000".to_owned()];
    let options = EtcdOptions { flags, ..EtcdOptions::default() };
    let Some(etcd) = Etcd::start("a_full_etcd_makes_commits_wait", 1, options) else { return };
    let mut store = EtcdStore::open(&config(&etcd.endpoints()), &job(), TIMEOUTS).unwrap();
    let leadership = store.campaign("a", Epoch(0)).await.unwrap();
    let mut other = client(&etcd).await;
    // A lease that no client keeps alive: its end shows that one has passed.
    let unkept = other.lease_grant(TIMEOUTS.lease.as_secs() as i64 * 2, None).await.unwrap().id();
    while other.put("filler", vec![0; 200_000], None).await.is_ok() {}
    let mut status = store.status();
    let commit = tokio::spawn(async move { store.commit(&leadership, vec![put("k", "v")]).await.map(|()| store) });
    let full =
        |status: &LeadershipStatus| matches!(status, LeadershipStatus::Waiting { why } if why.contains("is full"));
    status.wait_for(full).await.unwrap();
    while other.lease_time_to_live(unkept, None).await.unwrap().ttl() > 0 {
        #[expect(clippy::disallowed_methods, reason = "polls etcd, which ends the lease")]
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let now = other.get("filler", None).await.unwrap().header().unwrap().revision();
    other.compact(now, None).await.unwrap();
    other.delete("filler", None).await.unwrap();
    other.defragment().await.unwrap();
    let raised = other.alarm(AlarmAction::Get, AlarmType::Nospace, None).await.unwrap();
    for alarm in raised.alarms() {
        let mut member = AlarmOptions::new();
        member.with_member(alarm.member_id());
        other.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(member)).await.unwrap();
    }
    let store = commit.await.unwrap().unwrap();
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "v")]);
}

#[tokio::test]
#[ignore = "nightly"]
async fn nobody_at_the_address_is_said_with_the_address() {
    let timeouts = StoreTimeouts { request: Duration::from_millis(300), ..TIMEOUTS };
    let mut store = EtcdStore::open(&config("127.0.0.1:1,127.0.0.1:2"), &job(), timeouts).unwrap();
    let error = store.campaign("a", Epoch(0)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("127.0.0.1:1,127.0.0.1:2") && text.contains("start etcd there"), "{text}");
}
