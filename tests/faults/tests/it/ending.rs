//! Exit of an agent, its exit codes, and the end of its engines.

use crate::support::{Agent, Collected, FakeMaster, Gate, TestPlan, WelcomeTerms, children_of, eventually, is_running};
use compass_proto::v1;
use compass_proto::v1::master_frame::Body;
use rustix::process::Signal;

async fn engines_of(agent: &Agent, count: usize) -> Vec<i32> {
    let engines = || Some(children_of(agent.pid())).filter(|children| children.len() == count);
    eventually("the engines run", engines).await
}

async fn gone(pids: &[i32]) {
    eventually("the engines have ended", || (!pids.iter().any(|&pid| is_running(pid))).then_some(())).await;
}

/// Starts an agent with two engines, each of which has a sample that does not end: none may begin.
async fn stuck(flags: &[&str]) -> (FakeMaster, Agent, Vec<i32>, Gate) {
    let gate = Gate::after(0);
    let plan = TestPlan::questions(20);
    let mut master = FakeMaster::start(&plan).await;
    let flags: Vec<&str> = ["--slots", "2"].into_iter().chain(flags.iter().copied()).collect();
    let agent = Agent::start(&master.address, &flags, &gate.environment());
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms::default()).await;
    session.grant(&plan, 0, 1, 0, 10).await;
    session.grant(&plan, 1, 1, 10, 20).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.facts.len() == 1).await;
    let engines = engines_of(&agent, 2).await;
    (master, agent, engines, gate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eof_on_stdin_ends_agent_and_engines() {
    let (_master, mut agent, engines, _gate) = stuck(&["--exit-with-parent"]).await;
    drop(agent.0.stdin.take());
    assert_eq!(agent.ended().await.code(), Some(0));
    gone(&engines).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_do_not_outlive_a_killed_agent() {
    let (_master, mut agent, engines, _gate) = stuck(&[]).await;
    agent.signal(Signal::KILL);
    agent.ended().await;
    gone(&engines).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_signal_ends_the_agent_at_once() {
    let (_master, mut agent, engines, _gate) = stuck(&[]).await;
    agent.signal(Signal::INT);
    // Signals of one moment count as one: the second is the first that comes after it.
    let ended = |agent: &mut Agent| {
        agent.signal(Signal::TERM);
        agent.0.try_wait().unwrap()
    };
    let code = eventually("the agent exits", || ended(&mut agent)).await.code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    gone(&engines).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_finishes_started_samples_after_a_signal() {
    let plan = TestPlan::questions(100);
    let mut master = FakeMaster::start(&plan).await;
    let gate = Gate::after(12);
    let mut agent = Agent::start(&master.address, &[], &gate.environment());
    let mut session = master.session().await;
    session.welcome(&plan, WelcomeTerms::default()).await;
    session.grant(&plan, 0, 1, 0, 100).await;
    let mut collected = Collected::default();
    collected.until(&mut session, true, |collected| collected.samples() == 12).await;
    agent.signal(Signal::TERM);
    collected.until(&mut session, true, |collected| collected.draining).await;
    gate.open();
    collected.until_closed(&mut session).await;
    assert_eq!(agent.ended().await.code(), Some(143));
    // How many the engine was handed while it computed 12 depends on how long it took.
    assert!((12..100).contains(&collected.samples()), "{}", collected.samples());
    assert!(collected.reports.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_worker_exits() {
    let plan = TestPlan::questions(1);
    let mut master = FakeMaster::start(&plan).await;
    let mut agent = Agent::start(&master.address, &[], &[]);
    let mut session = master.session().await;
    session.send_unsequenced(0, Some(Body::Refused(v1::Refused { reason: "no".into() }))).await;
    assert_eq!(agent.ended().await.code(), Some(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_gives_up_an_absent_master() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut agent = Agent::start(&address, &["--master-lost-timeout", "1s"], &[]);
    assert_eq!(agent.ended().await.code(), Some(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_usage_has_its_own_exit_code() {
    let mut agent = Agent::start("127.0.0.1:1,nowhere", &[], &[]);
    assert_eq!(agent.ended().await.code(), Some(2));
}
