//! Workers that do not keep to the protocol: each is sent away in a sentence or cut off, nothing that it claims is believed,
//! and the run is as if it had never come. A real master, and peers made of frames.

use crate::played::{Peer, ends_well, hello, master, with_peers};
use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::{PROTOCOL_VERSION, Protocols, v1};
use compass_tests::wait_until;

#[test]
#[ignore = "nightly"]
fn a_worker_of_another_version_is_told_what_to_do() {
    let (job, running, address) = master();
    let reason = with_peers(async {
        let mut peer = Peer::call(
            &job,
            &address,
            v1::Hello { protocol: PROTOCOL_VERSION + 1, oldest_protocol: PROTOCOL_VERSION + 1, ..hello("newer") },
        )
        .await;
        match peer.told().await {
            Some(Told::Refused(refused)) => refused.reason,
            other => unreachable!("a refusal, not {other:?}"),
        }
    });
    let (theirs, ours) = (PROTOCOL_VERSION + 1, Protocols::OURS);
    let release = env!("CARGO_PKG_VERSION");
    let sentence =
        format!("it speaks protocol {theirs}, this master speaks {ours}; install compass-worker {release} on its host");
    assert_eq!(reason, sentence);
    ends_well(&job, running, &address);
}

#[test]
#[ignore = "nightly"]
fn a_frame_that_is_too_large_ends_its_session_alone() {
    let (job, running, address) = master();
    with_peers(async {
        let mut peer = Peer::call(&job, &address, hello("loud")).await;
        peer.welcome().await;
        let failed = v1::Failed { message: "x".repeat(300_000), ..Default::default() };
        peer.say(1, Say::Failed(failed)).await;
        let said = loop {
            match peer.told().await {
                Some(Told::Rejected(rejected)) => break rejected,
                Some(_) => {}
                None => unreachable!("cut off without a word"),
            }
        };
        assert_eq!((said.seq, said.reason.as_str()), (1, "a frame of more than 256 KiB"));
        peer.until_cut_off().await;
    });
    wait_until("the master says so", || job.log("master.log").contains("a frame of more than 256 KiB").then_some(()));
    ends_well(&job, running, &address);
}

#[test]
fn what_was_never_granted_or_comes_twice_or_out_of_order_is_not_believed() {
    let (job, running, address) = master();
    with_peers(async {
        let claimed = v1::HeldGrant {
            id: Some(v1::GrantId { epoch: 1, task: 3, attempt: 70 }),
            samples: vec![v1::Interval { first: 0, end: 3 }],
            ..Default::default()
        };
        let mut liar = Peer::call(&job, &address, v1::Hello { held: vec![claimed], ..hello("liar") }).await;
        let welcome = liar.welcome().await;
        assert!(welcome.kept.is_empty(), "a claim without a proof is void: {welcome:?}");
        let scores = v1::PplScores { nll_sum: vec![1.0], tokens: vec![17], ..Default::default() };
        let outcome = Some(v1::sample_result::Outcome::Ppl(scores));
        let unknown = v1::SampleResult { index: 100_000, tokens: 17, outcome, ..Default::default() };
        let results = v1::Results {
            grant: Some(v1::GrantId { epoch: 1, task: 3, attempt: 70 }),
            unit: 0,
            plan: welcome.plan,
            samples: vec![unknown],
            ..Default::default()
        };
        liar.say(1, Say::Results(results.clone())).await;
        liar.say(1, Say::Results(results.clone())).await;
        liar.say(2, Say::Draining(v1::Draining { reason: "enough".into() })).await;
        // A gap would make what was lost look handled.
        liar.say(9, Say::Results(results)).await;
        liar.until_cut_off().await;
    });
    let said = "refused 1 results of worker liar: it sent sample 100000 of echo/choice_ppl, which it was never granted";
    assert_eq!(job.log("master.log").matches(said).count(), 1, "{}", job.log("master.log"));
    ends_well(&job, running, &address);
}
