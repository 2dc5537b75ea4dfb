//! Results of an agent under faults of its connection, its engines and its grants.

use crate::support::{
    Agent, Collected, FakeMaster, Gate, Session, TestPlan, WelcomeTerms, children_of, eventually, is_running, proof,
};
use compass_eval::evaluator::EVAL_VERSION;
use compass_proto::v1;
use compass_proto::v1::master_frame::Body;
use prost::Message;
use rustix::process::Signal;
use std::sync::atomic::Ordering;

async fn welcomed(master: &mut FakeMaster, plan: &TestPlan) -> Session {
    let mut session = master.session().await;
    session.welcome(plan, WelcomeTerms::default()).await;
    session
}

/// Returns the id of a grant.
fn named(epoch: u64, task: u32, attempt: u32) -> Option<v1::GrantId> {
    Some(v1::GrantId { epoch, task, attempt })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_grants_give_all_results_and_reports() {
    let plan = TestPlan::questions(45);
    let mut master = FakeMaster::start(&plan).await;
    let mut agent = Agent::start(&master.address, &["--slots", "2", "--name", "w"], &[]);
    let mut session = welcomed(&mut master, &plan).await;
    assert_eq!((session.hello.worker.as_str(), session.hello.slots, session.hello.device.as_str()), ("w", 2, "cpu"));
    session.grant(&plan, 0, 1, 0, 25).await;
    session.grant(&plan, 1, 1, 25, 45).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 2).await;
    collected.assert_answers(&plan, 45, &[]);
    // Later ones follow measured times.
    assert_eq!(collected.credits.first(), Some(&3), "one grant more than slots, before anything is measured");
    let mut loads: Vec<_> =
        collected.facts.iter().filter_map(|facts| Some((facts.model, facts.load.as_ref()?.slot))).collect();
    loads.sort();
    assert_eq!(loads, [(0, 0), (0, 1)], "each load sends the facts of its model");
    let report = collected.reports.iter().find(|report| report.grant.unwrap().task == 0).unwrap();
    assert_eq!((report.scored, report.failed, report.grant), (25, 0, named(1, 0, 1)));
    assert_eq!(report.samples, [v1::Interval { first: 0, end: 25 }]);
    assert!(report.tokens.unwrap().submitted > 25);
    assert_eq!((report.eval_version, report.state.len()), (EVAL_VERSION, 32));
    assert_eq!(report.first.as_ref().map(|first| first.name.as_str()), Some("accuracy"));
    session.send(Body::Shutdown(v1::Shutdown { reason: "done".into() })).await;
    assert_eq!(agent.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn result_too_large_for_a_frame_is_uploaded_first() {
    let long = format!("say {}", "x".repeat(300_000));
    let plan = TestPlan::of(vec!["short".into(), long]);
    let mut master = FakeMaster::start(&plan).await;
    // The master has no room at first: the agent must retry and keep sending heartbeats.
    master.no_room.store(3, Ordering::SeqCst);
    let _agent = Agent::start(&master.address, &["--name", "w"], &[]);
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 2).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 2, &[]);
    assert_eq!(master.no_room.load(Ordering::SeqCst), 0);
    let uploads = master.uploads.lock().unwrap();
    let owner = |(first, _): &(v1::UploadChunk, Vec<u8>)| (first.worker.clone(), first.session.clone(), first.dial);
    let owners: Vec<_> = uploads.iter().map(owner).collect();
    assert_eq!(owners, [("w".into(), session.hello.session.clone(), session.hello.dial)]);
}

/// Every second sample: the longest list of intervals.
fn every_second(count: u32) -> Vec<v1::Interval> {
    (0..count / 2).map(|at| v1::Interval { first: 2 * at, end: 2 * at + 1 }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_longer_than_a_frame_are_spilled_in_both_directions() {
    const SAMPLES: u32 = 60_000;
    let plan = TestPlan::questions(SAMPLES as usize);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(1);
    let _agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    let (epoch, digest) = (1, plan.digest.0.to_vec());
    let samples = every_second(SAMPLES);
    let (samples_of, proof) = (samples.clone(), proof(epoch, 0, 1));
    let grant = v1::Grant {
        id: named(epoch, 0, 1),
        unit: 0,
        samples: samples_of,
        plan: digest,
        slots: 0,
        proof,
        suspects: Vec::new(),
        drawn: Vec::new(),
    };
    session.send(Body::Grant(grant)).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 1).await;
    drop(session);
    // A hello that lists the remaining samples, and a welcome that keeps them.
    let mut session = master.session().await;
    let held = &session.hello.held[0];
    assert!(held.samples.len() > 29_000 && held.encoded_len() > 256 * 1024, "{}", held.encoded_len());
    session.welcome(&plan, WelcomeTerms { last_ack: collected.last_seq, ..WelcomeTerms::default() }).await;
    // A revocation that names samples to return, and the answer.
    let revoke = v1::Revoke { grant: named(epoch, 0, 1), samples, ..Default::default() };
    session.send(Body::Revoke(revoke)).await;
    collected.until_heard(&mut session).await;
    gate.open();
    collected.until(&mut session, true, |collected| !collected.returned.is_empty()).await;
    assert!(collected.returned[0].encoded_len() > 256 * 1024);
    let names: Vec<_> = master.uploads.lock().unwrap().iter().map(|(first, _)| first.dial).collect();
    assert_eq!(names, [session.hello.dial, session.hello.dial], "the hello and the answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frame_rejected_three_times_becomes_a_failure() {
    let plan = TestPlan::questions(3);
    let mut master = FakeMaster::start(&plan).await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let _agent = Agent::start_logged(&master.address, &[], &[], &log);
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 3).await;
    // The facts, the acceptance, and then the results of all three samples: later frames are never acknowledged.
    for _ in 0..3 {
        let results = loop {
            let frame = session.frame().await.unwrap();
            match frame.body {
                Some(v1::worker_frame::Body::Results(_)) => break frame.seq,
                _ if frame.seq > 0 => session.send_unsequenced(frame.seq, None).await,
                _ => {}
            }
        };
        session.reject(results, "not this one").await;
        session = welcomed(&mut master, &plan).await;
    }
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    assert_eq!(collected.samples(), 3);
    for outcome in collected.outcomes.values().flatten() {
        let v1::sample_result::Outcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason, "the master rejected the result: not this one");
    }
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("the master rejects results of task 0, samples 0..3"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connection_replays_only_unacknowledged_frames() {
    let plan = TestPlan::questions(60);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(5);
    let _agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    let nonce = session.hello.session.clone();
    session.grant(&plan, 0, 1, 0, 60).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 5).await;
    let acknowledged = collected.last_seq;
    gate.admit(20);
    collected.until(&mut session, false, |collected| collected.samples() == 20).await;
    drop(session);

    let mut session = master.session().await;
    assert_eq!(session.hello.session, nonce);
    let held = &session.hello.held;
    assert_eq!((held.len(), held[0].id), (1, named(1, 0, 1)));
    assert_eq!(held[0].samples, [v1::Interval { first: 5, end: 60 }], "with unacknowledged samples");
    // As granted, with the proof from the grant.
    assert_eq!((&held[0].granted[..], &held[0].proof), (&[v1::Interval { first: 0, end: 60 }][..], &proof(1, 0, 1)));
    session.welcome(&plan, WelcomeTerms { last_ack: acknowledged, ..WelcomeTerms::default() }).await;
    // The master does not know whether the grant arrived, and sends it again.
    session.grant(&plan, 0, 1, 0, 60).await;
    gate.open();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 60, &[]);
    assert!(collected.replayed > 0, "unacknowledged frames must be replayed");
    assert_eq!(collected.reports.len(), 1, "a repeated grant counts once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_engine_loses_and_repeats_no_sample() {
    let plan = TestPlan::questions(40);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(0);
    let agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 40).await;
    let mut collected = Collected::default();
    for victims in 1..=2 {
        gate.admit(victims * 5);
        collected.until(&mut session, true, |collected| collected.samples() as u64 == victims * 5).await;
        let engines = || Some(children_of(agent.pid())).filter(|children| children.len() == 1);
        let engine = eventually("an engine runs", engines).await[0];
        rustix::process::kill_process(rustix::process::Pid::from_raw(engine).unwrap(), Signal::KILL).unwrap();
        eventually("the engine is gone", || (!is_running(engine)).then_some(())).await;
    }
    gate.open();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 40, &[]);
    assert!(collected.failures.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poison_sample_fails_and_the_others_succeed() {
    let plan = TestPlan::questions(40);
    let mut master = FakeMaster::start(&plan).await;
    let _agent = Agent::start(&master.address, &[], &[("COMPASS_FAULT_DIE_ON", "question 13")]);
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 40).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 40, &[13]);
    let v1::sample_result::Outcome::Failed(reason) = &collected.outcomes[&13][0] else { panic!("13 did not fail") };
    assert!(reason.starts_with("the engine died on this sample twice: signal: 6"), "{reason}");
    assert_eq!((collected.reports[0].scored, collected.reports[0].failed), (39, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_engine_is_killed_and_its_sample_fails() {
    let plan = TestPlan::questions(12);
    let mut master = FakeMaster::start(&plan).await;
    let _agent = Agent::start(&master.address, &[], &[("COMPASS_FAULT_HANG_ON", "question 7")]);
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms { engine_timeout_ms: 2_000, ..WelcomeTerms::default() }).await;
    session.grant(&plan, 0, 1, 0, 12).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 12, &[7]);
    let v1::sample_result::Outcome::Failed(reason) = &collected.outcomes[&7][0] else { panic!("7 did not fail") };
    let expected = "the engine died on this sample twice: no progress for 2 s, killed by the agent";
    assert!(reason.starts_with(expected), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_grant_finishes_running_samples_without_a_report() {
    let plan = TestPlan::questions(60);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(3);
    let _agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 50).await;
    session.grant(&plan, 1, 1, 50, 60).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 3).await;
    session
        .send(Body::Revoke(v1::Revoke { grant: named(1, 0, 1), reason: "stolen".into(), ..Default::default() }))
        .await;
    collected.until_heard(&mut session).await;
    gate.open();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    assert_eq!(collected.revoke_acks, [(0, 1)]);
    assert_eq!(collected.reports[0].grant, named(1, 1, 1));
    let of_first = collected.outcomes.keys().filter(|&&index| index < 50).count();
    assert!((3..50).contains(&of_first), "{of_first}");
    assert!(collected.outcomes.values().all(|outcomes| outcomes.len() == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requested_samples_that_have_not_started_are_returned() {
    let plan = TestPlan::questions(60);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(3);
    let _agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 50).await;
    session.grant(&plan, 1, 1, 50, 60).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 3).await;
    let asked = |task, first, end, only_unbegun| {
        let (samples, reason) = (vec![v1::Interval { first, end }], "another worker is idle".into());
        Body::Revoke(v1::Revoke { grant: named(1, task, 1), reason, samples, only_unbegun })
    };
    session.send(asked(0, 0, 50, true)).await;
    session.send(asked(0, 0, 50, false)).await;
    session.send(asked(1, 50, 60, true)).await;
    collected.until_heard(&mut session).await;
    gate.open();
    collected
        .until(&mut session, true, |collected| collected.reports.len() == 1 && collected.returned.len() == 2)
        .await;
    assert_eq!(collected.revoke_acks, [(0, 1)], "nothing is returned: samples of the first grant have started");
    let (first, second) = (&collected.returned[0], &collected.returned[1]);
    assert!(first.held && first.returned.len() == 1 && first.returned[0].end == 50, "{first:?}");
    let begun = first.returned[0].first;
    assert!((3..50).contains(&begun), "{begun}");
    assert_eq!(
        collected.reports[0].samples,
        [v1::Interval { first: 0, end: begun }],
        "the report covers the samples that ran"
    );
    collected.assert_answers(&plan, begun, &[]);
    assert!(!second.held, "no sample of the second grant started");
    assert_eq!(second.returned, [v1::Interval { first: 50, end: 60 }]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_carry_the_new_leaders_name_of_a_kept_grant() {
    let plan = TestPlan::questions(40);
    let mut master = FakeMaster::start(&plan).await;
    let address = master.address.clone();
    let gate = Gate::after(3);
    let _agent = Agent::start(&address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &plan).await;
    session.grant(&plan, 0, 1, 0, 40).await;
    let mut collected = Collected::default();
    // Received, and never acknowledged: this leader fails before.
    collected.until(&mut session, false, |collected| collected.samples() == 3).await;
    drop(session);
    master.stop().await;

    let mut master = FakeMaster::start_at(&plan, &address).await;
    let mut session = master.session().await;
    assert_eq!(session.hello.held.len(), 1, "{:?}", session.hello.held);
    assert_eq!(session.hello.held[0].samples, [v1::Interval { first: 0, end: 40 }], "with unacknowledged samples");
    session.hello.held[0].id = named(2, 7, 1);
    assert_eq!(session.hello.held[0].proof, proof(1, 0, 1));
    session.hello.held[0].proof = proof(2, 7, 1);
    let mut kept = session.kept();
    kept[0].held = named(1, 0, 1);
    session.welcome_keeping(&plan, WelcomeTerms { epoch: 2, ..WelcomeTerms::default() }, kept).await;
    let mut collected = Collected::default();
    collected.until_welcomed(&mut session, false).await;
    gate.open();
    collected.until(&mut session, false, |collected| collected.reports.len() == 1).await;
    drop(session);
    // Nothing was acknowledged: the next leader sees both names, each with its proof.
    let mut session = master.session().await;
    let mut presented: Vec<_> =
        session.hello.held.iter().map(|held| (held.id.unwrap().epoch, held.proof.clone())).collect();
    presented.sort();
    assert_eq!(presented, [(1, proof(1, 0, 1)), (2, proof(2, 7, 1))]);
    session.welcome_keeping(&plan, WelcomeTerms { epoch: 2, ..WelcomeTerms::default() }, vec![]).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 40, &[]);
    assert_eq!(collected.reports[0].grant, named(2, 7, 1));
    assert!(collected.outcomes.values().all(|outcomes| outcomes.len() == 1), "no sample runs twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_not_kept_do_not_start_and_an_older_leader_is_left() {
    let plan = TestPlan::questions(60);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(3);
    let _agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms { epoch: 5, ..WelcomeTerms::default() }).await;
    session.grant(&plan, 0, 1, 0, 60).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 3).await;
    drop(session);
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms { epoch: 4, ..WelcomeTerms::default() }).await;
    while session.frame().await.is_some() {}
    let mut session = master.session().await;
    session
        .welcome_keeping(
            &plan,
            WelcomeTerms { epoch: 5, last_ack: collected.last_seq, ..WelcomeTerms::default() },
            vec![],
        )
        .await;
    collected.until_welcomed(&mut session, true).await;
    gate.open();
    collected.until(&mut session, true, |collected| !collected.revoke_acks.is_empty()).await;
    assert!((3..60).contains(&collected.samples()), "samples that had not started were not dropped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_plan_drops_grants_and_results() {
    let (old, new) = (TestPlan::questions(200), TestPlan::of(vec!["another question".into()]));
    let mut master = FakeMaster::start(&old).await;
    let address = master.address.clone();
    let gate = Gate::after(3);
    let _agent = Agent::start(&address, &[], &gate.environment());
    let mut session = welcomed(&mut master, &old).await;
    session.grant(&old, 0, 1, 0, 200).await;
    Collected::default().until(&mut session, false, |collected| collected.samples() == 3).await;
    drop(session);
    master.stop().await;

    let mut master = FakeMaster::start_at(&new, &address).await;
    let mut session = master.session().await;
    session.welcome(&new, WelcomeTerms { epoch: 2, ..WelcomeTerms::default() }).await;
    session.grant(&new, 0, 1, 0, 1).await;
    gate.open();
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&new, 1, &[]);
    assert_eq!(collected.facts.len(), 1, "the new master has no facts yet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_lease_stops_the_start_of_samples() {
    let plan = TestPlan::questions(10);
    let mut master = FakeMaster::start(&plan).await;
    let _agent = Agent::start(&master.address, &[], &[]);
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms { lease_ttl_ms: 0, ..WelcomeTerms::default() }).await;
    session.grant(&plan, 0, 1, 0, 10).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| !collected.credits.is_empty()).await;
    // Several heartbeats are acknowledged, none of which extends the lease.
    for _ in 0..5 {
        let frame = session.frame().await.unwrap();
        let Some(v1::worker_frame::Body::Heartbeat(heartbeat)) = frame.body else { panic!("{frame:?}") };
        session.send_unsequenced(0, Some(Body::HeartbeatAck(v1::HeartbeatAck { sent_ms: heartbeat.sent_ms }))).await;
    }
    drop(session);
    let mut session = welcomed(&mut master, &plan).await;
    collected.until(&mut session, true, |collected| collected.reports.len() == 1).await;
    collected.assert_answers(&plan, 10, &[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offline_pool_runs_all_granted_samples() {
    let plan = TestPlan::questions(80);
    let mut master = FakeMaster::start(&plan).await;
    let address = master.address.clone();
    let log = tempfile::NamedTempFile::new().unwrap();
    let gate = Gate::after(1);
    let _agent = Agent::start_logged(&address, &[], &gate.environment(), log.path());
    let mut session = master.session().await;
    let terms = WelcomeTerms { lease_ttl_ms: 0, offline_continue: true, ..WelcomeTerms::default() };
    session.welcome(&plan, terms).await;
    session.grant(&plan, 0, 1, 0, 60).await;
    session.grant(&plan, 1, 1, 60, 80).await;
    let mut collected = Collected::default();
    // The plan's head and its eight parts, all fetched before they are needed.
    let fetched = master.fetched.clone();
    let all_here = |collected: &Collected| collected.samples() == 1 && fetched.load(Ordering::SeqCst) >= 9;
    collected.until(&mut session, true, all_here).await;
    gate.admit(11);
    collected.until(&mut session, true, |collected| collected.samples() == 11).await;
    let acknowledged = collected.last_seq;
    drop(session);
    master.stop().await;
    gate.open();
    let finished = "its results wait for a connection to the master";
    let both = || (std::fs::read_to_string(log.path()).unwrap().matches(finished).count() == 2).then_some(());
    eventually("both grants have finished", both).await;
    let mut master = FakeMaster::start_at(&plan, &address).await;
    let mut session = master.session().await;
    // Samples that had not started would be dropped now: there are none.
    let terms = WelcomeTerms { last_ack: acknowledged, ..WelcomeTerms::default() };
    session.welcome_keeping(&plan, terms, session.kept()).await;
    collected.until(&mut session, true, |collected| collected.reports.len() == 2).await;
    collected.assert_answers(&plan, 80, &[]);
    assert!(collected.outcomes.values().all(|outcomes| outcomes.len() == 1));
}
