//! Runs whose leases lie in etcd: the same bytes as with the embedded store, masters that stand by, stores that go away.

use compass_tests::{
    Etcd, EtcdOptions, Finished, Job, Running, assert_same, echo_job, held_job, undisturbed, wait_until,
};
use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;

/// Bytes that a pipe takes before its writer has to wait, as Linux makes them.
const PIPE: usize = 65_536;

fn one_node(test: &str) -> Option<Etcd> {
    Etcd::start(test, 1, EtcdOptions::default())
}

fn store(endpoints: &str) -> String {
    format!("store = \"etcd://{endpoints}/compass\"")
}

/// A file of the job's folder for a master's output.
fn log(job: &Job, name: &str) -> File {
    let path = job.path(name);
    File::create(&path).unwrap_or_else(|error| unreachable!("cannot write {}: {error}", path.display()))
}

/// A second master of the job that stands by, and the file of its output.
fn standby(job: &Job, arguments: &[&str]) -> Running {
    let second = job.start_logged(arguments, "standby.err");
    wait_until("the second master stands by", || job.log("standby.err").contains("standing by").then_some(()));
    second
}

fn ended(master: Running, job: &Job, code: i32) -> Finished {
    let finished = master.finish();
    assert_eq!(finished.code, Some(code), "{}\n{}", finished.stderr, job.log("standby.err"));
    finished
}

#[test]
#[ignore = "nightly"]
fn results_are_those_of_the_embedded_store() {
    let Some(etcd) = Etcd::start("results_are_those_of_the_embedded_store", 3, EtcdOptions::default()) else { return };
    let expected = undisturbed();
    let job = echo_job(&store(&etcd.endpoints()), "");
    job.run(&[]).expect(0);
    assert_same(&job, &expected);
    job.run(&["-m", "eval", "-r"]).expect(0);
    job.run(&["-r"]).expect(0);
    assert_same(&job, &expected);
    assert_eq!(job.facts()["epoch"], 2);
}

#[test]
#[ignore = "nightly"]
fn a_killed_master_resumes_from_etcd() {
    let Some(etcd) = one_node("a_killed_master_resumes_from_etcd") else { return };
    let expected = undisturbed();
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    master.signal("KILL");
    master.finish();
    job.gate().open();
    // It leads until its lease runs out: the next one stands by so long.
    let resumed = job.run(&["--max-num-workers", "2", "-r"]).expect(0);
    assert!(resumed.stderr.contains("this master leads now, in epoch 2"), "{}", resumed.stderr);
    assert_same(&job, &expected);
    assert_eq!(job.runs().len(), 1);
    let facts = job.facts();
    assert!(facts["resumed_samples"].as_u64().unwrap() > 0, "{facts}");
}

#[test]
#[ignore = "nightly"]
fn work_goes_on_while_etcd_is_away() {
    let Some(mut etcd) = one_node("work_goes_on_while_etcd_is_away") else { return };
    let expected = undisturbed();
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let master = job.start_logged(&["--max-num-workers", "2"], "master.err");
    job.wait_until_durable();
    etcd.kill(0);
    job.gate().admit_more(20);
    wait_until("the master misses the store", || {
        job.log("master.err").contains("work goes on meanwhile").then_some(())
    });
    // Nothing that begins from now on can be recorded.
    job.gate().admit_more(20);
    job.gate().wait_until_reached();
    etcd.spawn(0);
    wait_until("the store is back", || job.log("master.err").contains("the store answers again").then_some(()));
    job.gate().open();
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.err"));
    assert_same(&job, &expected);
    let facts = job.facts();
    assert_eq!((&facts["epoch"], &facts["repeats"]), (&1.into(), &0.into()), "{facts}");
}

/// `etcd://...` with the cluster's leader named first.
fn leader_first(etcd: &Etcd, leader: usize) -> String {
    let others = (0..3).filter(|&at| at != leader);
    let endpoints: Vec<_> = std::iter::once(leader).chain(others).map(|at| etcd.endpoint(at)).collect();
    store(&endpoints.join(","))
}

#[test]
#[ignore = "nightly"]
fn a_killed_leader_of_etcd_that_is_listed_first_does_not_end_the_job() {
    let Some(mut etcd) = Etcd::start("a_killed_leader_of_etcd_listed_first", 3, EtcdOptions::default()) else { return };
    let expected = undisturbed();
    let leader = etcd.leader();
    let job = held_job(20, &leader_first(&etcd, leader), "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    etcd.kill(leader);
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
    assert_eq!(job.facts()["epoch"], 1);
}

#[test]
#[ignore = "nightly"]
fn a_store_that_is_away_while_the_run_is_sealed_is_waited_for() {
    let Some(mut etcd) = Etcd::start("a_store_that_is_away_while_sealed", 3, EtcdOptions::default()) else { return };
    let expected = undisturbed();
    let leader = etcd.leader();
    let job = echo_job(&leader_first(&etcd, leader), "");
    // The table is not read: the master stays between its scores and the seal.
    let (mut table, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'.'; PIPE]).unwrap();
    let master = job.command(&["--max-num-workers", "2"]).stdout(full).stderr(log(&job, "master.err")).spawn();
    let mut master = master.unwrap();
    let summary = || std::fs::read_dir(job.latest().join("summary")).ok()?.flatten().nth(2);
    wait_until("the summary is written", summary);
    let others: Vec<usize> = (0..3).filter(|&at| at != leader).collect();
    etcd.kill(leader);
    etcd.kill(others[0]);
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        table.read_to_end(&mut text).map(|_| text.split_off(PIPE))
    });
    wait_until("the master waits for the store", || {
        job.log("master.err").contains("work goes on meanwhile").then_some(())
    });
    #[expect(
        clippy::disallowed_methods,
        reason = "longer than one request to a store may take, of which nothing is seen"
    )]
    std::thread::sleep(Duration::from_secs(8));
    etcd.spawn(others[0]);
    let code = master.wait().unwrap().code();
    assert_eq!(code, Some(0), "{}", job.log("master.err"));
    let table = reader.join().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&table).contains("choice_ppl"));
    assert_same(&job, &expected);
    let again = job.run(&["-r"]).expect(0);
    assert!(!again.stderr.contains("standing by"), "the lead was given back: {}", again.stderr);
}

#[test]
fn a_second_master_stands_by_and_takes_over() {
    let Some(etcd) = one_node("a_second_master_stands_by") else { return };
    let expected = undisturbed();
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    // Without -r: the plan's digest finds the run.
    let second = standby(&job, &["--max-num-workers", "2"]);
    let leader = format!("standing by: process {}", first.pid());
    assert!(job.log("standby.err").contains(&leader), "{}", job.log("standby.err"));
    first.signal("KILL");
    first.finish();
    job.gate().open();
    ended(second, &job, 0);
    assert_same(&job, &expected);
    assert_eq!(job.runs().len(), 1, "both work in one run folder");
    assert_eq!(job.facts()["epoch"], 2);
}

#[test]
#[ignore = "nightly"]
fn standby_exits_when_run_finishes() {
    let Some(etcd) = one_node("standby_exits_when_run_finishes") else { return };
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let second = standby(&job, &[]);
    job.gate().open();
    let table = first.finish().expect(0).stdout;
    assert_eq!(ended(second, &job, 0).stdout, table);
    assert_eq!(job.facts()["epoch"], 1, "the second one did nothing");
}

#[test]
#[ignore = "nightly"]
fn a_leader_that_is_asked_to_stop_hands_over_at_once() {
    let Some(etcd) = one_node("a_leader_that_is_asked_to_stop") else { return };
    let expected = undisturbed();
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let mut first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let second = standby(&job, &["--max-num-workers", "2"]);
    first.signal("INT");
    job.trickle_until("the first master ends", || first.has_ended());
    first.finish().expect(130);
    job.gate().open();
    ended(second, &job, 0);
    assert_same(&job, &expected);
}

#[test]
#[ignore = "nightly"]
fn a_leader_that_slept_too_long_is_fenced_and_changes_nothing() {
    let Some(etcd) = one_node("a_leader_that_slept_too_long") else { return };
    let expected = undisturbed();
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let second = standby(&job, &["--max-num-workers", "2"]);
    first.signal("STOP");
    wait_until("the second master leads", || job.log("standby.err").contains("leads now, in epoch 2").then_some(()));
    first.signal("CONT");
    job.gate().open();
    let fenced = first.finish().expect(4);
    assert!(fenced.stderr.contains("the leadership of epoch 1 is over"), "{}", fenced.stderr);
    ended(second, &job, 0);
    assert_same(&job, &expected);
}

#[test]
#[ignore = "nightly"]
fn a_store_that_is_not_there_is_said_in_one_sentence() {
    let job = echo_job(&store("127.0.0.1:1,127.0.0.1:2"), "");
    let finished = job.run(&[]).expect(3);
    let sentence = "error: the store at 127.0.0.1:1,127.0.0.1:2 does not answer; start etcd there, correct `store` in \
                    [master], or write `store = \"embedded\"`";
    assert!(finished.stderr.contains(sentence), "{}", finished.stderr);
    assert!(job.runs().is_empty(), "no run folder is left behind");
}

#[test]
#[ignore = "nightly"]
fn a_damaged_key_is_said_with_the_remedy_that_works() {
    let Some(etcd) = one_node("a_damaged_key_is_said") else { return };
    let job = held_job(20, &store(&etcd.endpoints()), "");
    let mut first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    first.signal("INT");
    job.trickle_until("the master ends", || first.has_ended());
    first.finish().expect(130);
    job.gate().open();
    let plan = job.path("out").join(job.latest()).join("plan/job.json");
    let digest = compass_types::ids::Digest::of(&std::fs::read(plan).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let segment = job.latest().join("ledger").read_dir().unwrap().flatten().next().unwrap();
    let segment = format!("segments/{}", segment.file_name().to_string_lossy());
    let keys = ["leader", "epoch", segment.as_str(), "leases/0000000000000001/0000000000000099", "released"];
    for key in keys {
        let key = format!("compass/jobs/{digest}/{key}");
        let put = async |value: &str| {
            let mut client = etcd_client::Client::connect([etcd.endpoint(0)], None).await.unwrap();
            client.put(key.as_str(), value, None).await.unwrap();
        };
        let delete = async || {
            let mut client = etcd_client::Client::connect([etcd.endpoint(0)], None).await.unwrap();
            client.delete(key.as_str(), None).await.unwrap();
        };
        eprintln!("damaged: {key}");
        runtime.block_on(put("\u{1}\u{7f} not of ours"));
        let said = job.run(&["-r"]).expect(3).stderr;
        assert!(said.contains(&format!("error: cannot read the key {key} of the store")), "{said}");
        assert!(said.contains(&format!("etcdctl del {key}")), "{said}");
        runtime.block_on(delete());
    }
    job.run(&["-r"]).expect(0);
    assert_same(&job, &undisturbed());
}
