//! Results that count, and results that do not: one that was never granted, one that does not fit the plan, one that differs. A real
//! master, and workers made of frames.

use crate::played::{Peer, ends_well, hello, master, with_peers};
use compass_proto::v1;
use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::sample_result::Outcome;
use compass_proto::v1::worker_frame::Body as Say;
use compass_tests::{Job, Running, Worker, assert_same, told_address, undisturbed, worker_command};

/// Scores of two options, as `choice_ppl` has them.
fn ppl(nll_sum: [f64; 2]) -> Outcome {
    Outcome::Ppl(v1::PplScores { nll_sum: nll_sum.to_vec(), tokens: vec![9, 9], ..Default::default() })
}

fn results(grant: &v1::Grant, samples: impl IntoIterator<Item = (u32, Outcome)>) -> Say {
    let samples = samples.into_iter();
    let result = |(index, outcome)| v1::SampleResult { index, tokens: 9, outcome: Some(outcome), ..Default::default() };
    Say::Results(v1::Results {
        grant: grant.id,
        unit: grant.unit,
        plan: grant.plan.clone(),
        samples: samples.map(result).collect(),
        ..Default::default()
    })
}

fn held(grant: &v1::Grant) -> v1::HeldGrant {
    v1::HeldGrant {
        id: grant.id,
        unit: grant.unit,
        samples: grant.samples.clone(),
        proof: grant.proof.clone(),
        granted: Vec::new(),
    }
}

fn first(grant: &v1::Grant) -> u32 {
    grant.samples[0].first
}

/// A peer that is welcome, and holds its first grant of the data set whose samples have two options.
async fn holding(job: &Job, address: &str, name: &str) -> (Peer, v1::Grant) {
    let mut peer = Peer::call(job, address, hello(name)).await;
    peer.welcome().await;
    peer.say(0, Say::Credit(v1::Credit { grants: 64 })).await;
    loop {
        let grant = peer.grant().await;
        if grant.unit == 0 {
            return (peer, grant);
        }
    }
}

/// The peer goes in good order, so that no worker waits for it.
async fn leave(mut peer: Peer, seq: u64) {
    peer.say(seq, Say::Draining(v1::Draining { reason: "enough".into() })).await;
    peer.until_acknowledged(seq).await;
}

/// A good worker comes and does the rest; the master's exit code.
fn rest(job: &Job, running: Running, address: &str) -> Option<i32> {
    let worker = Worker::start(worker_command(address, &job.path("home")), job.path("worker.log"));
    let code = running.finish().code;
    assert_eq!(worker.finish().0, Some(0));
    code
}

#[test]
fn a_forged_hundred_percent_is_refused_counted_and_named() {
    let (job, running, address) = master();
    with_peers(async {
        let mut liar = Peer::call(&job, &address, hello("liar")).await;
        let welcome = liar.welcome().await;
        let forged = v1::Grant {
            id: Some(v1::GrantId { epoch: welcome.epoch, task: 0, attempt: 1 }),
            plan: welcome.plan,
            ..Default::default()
        };
        let right = |index| (index, ppl(if index % 2 == 0 { [0.0, 9.0] } else { [9.0, 0.0] }));
        liar.say(1, results(&forged, (0..60).map(right))).await;
        liar.say(2, results(&forged, (60..120).map(right))).await;
        liar.until_acknowledged(2).await;
    });
    ends_well(&job, running, &address);
    let (facts, said) = (job.facts(), job.log("master.log"));
    assert_eq!(facts["refused"]["liar"]["not_granted"], 120, "{facts}");
    let sentence = "refused 60 results of worker liar: it sent sample 0 of echo/choice_ppl, which it was never granted";
    assert_eq!(said.matches(sentence).count(), 1, "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_differing_second_result_of_one_device_type_ends_with_exit_code_1() {
    for (device, code, diverged) in [("cpu", 1, 1), ("cuda", 0, 0)] {
        let (job, running, address) = master();
        with_peers(async {
            let (mut peer, grant) = holding(&job, &address, "twice").await;
            let sample = first(&grant);
            peer.say(1, results(&grant, [(sample, ppl([1.0, 2.0]))])).await;
            peer.until_acknowledged(1).await;
            // The same process, on another device where the case asks for it.
            let claims = vec![held(&grant)];
            let again = v1::Hello { device: device.into(), dial: 2, first_seq: 2, held: claims, ..hello("twice") };
            drop(peer);
            let mut peer = Peer::call(&job, &address, again).await;
            peer.welcome().await;
            peer.say(2, results(&grant, [(sample, ppl([1.0, 2.5]))])).await;
            peer.until_acknowledged(2).await;
            leave(peer, 3).await;
        });
        assert_eq!(rest(&job, running, &address), Some(code), "{device}: {}", job.log("master.log"));
        let (facts, said) = (job.facts(), job.log("master.log"));
        assert_eq!(facts["divergences"], 1, "{device}: {facts}");
        let named = facts["diverged"]["echo/choice_ppl"].as_array().map_or(0, Vec::len);
        assert_eq!(named, diverged, "{device}: {facts}");
        let sentence = "error: echo/choice_ppl: 1 sample came twice with different results from devices of one type";
        assert_eq!(said.contains(sentence), diverged == 1, "{device}: {said}");
        // A resumed master knows it from the ledger.
        assert_eq!(job.run(&["-m", "eval", "-r"]).code, Some(code), "{device}");
    }
}

#[test]
#[ignore = "nightly"]
fn a_worker_whose_results_do_not_fit_is_barred_and_the_run_is_as_if_it_had_never_come() {
    let (job, running, address) = master();
    let reason = with_peers(async {
        let (peer, grant) = holding(&job, &address, "broken").await;
        let wrong_kind = Outcome::Rolling(v1::RollingScore { sum: -1.0, tokens: 9 });
        let one_option = Outcome::Ppl(v1::PplScores { nll_sum: vec![1.0], tokens: vec![9], ..Default::default() });
        let uneven = Outcome::Ppl(v1::PplScores { nll_sum: vec![1.0, 2.0], tokens: vec![9], ..Default::default() });
        let at = first(&grant);
        peer.say(1, results(&grant, [(at, wrong_kind), (at + 1, one_option), (at + 2, uneven)])).await;
        peer.until_cut_off().await;
        let mut again = Peer::call(&job, &address, v1::Hello { dial: 2, first_seq: 2, ..hello("broken") }).await;
        match again.told().await {
            Some(Told::Refused(refused)) => refused.reason,
            other => unreachable!("a refusal, not {other:?}"),
        }
    });
    assert!(
        reason.starts_with("worker broken is barred from this job: 3 of its results do not fit the plan"),
        "{reason}"
    );
    ends_well(&job, running, &address);
    let (facts, said) = (job.facts(), job.log("master.log"));
    assert_eq!((&facts["misfits"], &facts["refused"]["broken"]["misfits"]), (&3.into(), &3.into()), "{facts}");
    assert!(facts["barred_from_job"]["broken"].is_string(), "{facts}");
    assert!(said.contains("refused a result of worker broken: sample "), "{said}");
    assert!(said.contains("has a result of kind `rolling`, where the plan asks for `ppl`"), "{said}");
}

#[test]
#[ignore = "nightly"]
fn what_is_not_a_number_on_two_workers_is_the_models_own() {
    let (job, running, address) = master();
    let sample = with_peers(async {
        let (one, grant) = holding(&job, &address, "one").await;
        let sample = first(&grant);
        let mut two = Peer::call(&job, &address, hello("two")).await;
        two.welcome().await;
        two.say(0, Say::Credit(v1::Credit { grants: 64 })).await;
        // Its frames are handled in order: from here on the master knows that it takes grants.
        two.say(0, Say::Heartbeat(v1::Heartbeat { sent_ms: 7, ..Default::default() })).await;
        while !matches!(two.told().await, Some(Told::HeartbeatAck(_))) {}
        one.say(1, results(&grant, [(sample, ppl([1.0, f64::NAN]))])).await;
        let again = loop {
            let grant = two.grant().await;
            if grant.unit == 0 && grant.samples == [v1::Interval { first: sample, end: sample + 1 }] {
                break grant;
            }
        };
        two.say(1, results(&again, [(sample, ppl([f64::NAN, f64::NAN]))])).await;
        two.until_acknowledged(1).await;
        leave(one, 2).await;
        leave(two, 2).await;
        sample
    });
    assert_eq!(rest(&job, running, &address), Some(1), "{}", job.log("master.log"));
    let reason = "the model gives numbers that are not finite (NaN or infinity), on workers one, two";
    let predictions = job.predictions("echo", "choice_ppl").to_string();
    assert_eq!(predictions.matches(reason).count(), 1, "sample {sample}: {predictions}");
    assert!(job.facts()["barred_from_job"].as_object().is_some_and(serde_json::Map::is_empty), "{}", job.facts());
}

#[test]
#[ignore = "nightly"]
fn a_proof_outlives_its_master_but_not_the_store() {
    for lost in [false, true] {
        let (job, running, address) = master();
        let (_, grant) = with_peers(async { holding(&job, &address, "patient").await });
        running.signal("KILL");
        running.finish();
        if lost {
            std::fs::remove_dir_all(job.path("state")).unwrap();
        }
        let running = job.start_logged(&["-r"], "master.log");
        let address = told_address(&job, "master.log");
        with_peers(async {
            let again = v1::Hello { dial: 2, held: vec![held(&grant)], plan: grant.plan.clone(), ..hello("patient") };
            let mut peer = Peer::call(&job, &address, again).await;
            let welcome = peer.welcome().await;
            assert_eq!(welcome.epoch, 2);
            assert_eq!(welcome.kept.len(), usize::from(!lost), "{welcome:?}");
            leave(peer, 1).await;
        });
        let said = job.log("master.log");
        assert_eq!(said.contains("the store does not hold this job's key"), lost, "{said}");
        let void = "worker patient claims 1 grants without a proof that this job can check";
        assert_eq!(said.contains(void), lost, "{said}");
        assert_eq!(rest(&job, running, &address), Some(0), "{}", job.log("master.log"));
        assert_same(&job, &undisturbed());
    }
}
