//! A job that is ended as Slurm ends it: the same signal to every process of it at once.

use compass_tests::{
    SAMPLES, Worker, assert_same, children_of, held_job, kill, told_address, undisturbed, wait_until, worker_command,
};

#[test]
fn a_worker_whose_engines_hear_the_signal_too_finishes_what_it_has_begun() {
    let mut job = held_job(4, "listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"\n");
    job.set_env("HOME", &job.path("home").display().to_string());
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let start = |name: &str| {
        let mut command = worker_command(&address, &job.path("home"));
        command.args(["--name", name, "--slots", "2", "--no-sandbox"]);
        command.envs(job.environment()).env("COMPASS_FAULT_TRACE", job.path("trace"));
        Worker::start(command, job.path(name))
    };
    let run_so_far = || job.log("trace").lines().count();
    let told = start("told");
    // One of its engines may run all that may begin: the other waits with what it has begun.
    wait_until("both engines have begun", || (told.said().matches("model loaded").count() == 2).then_some(()));
    wait_until("samples are run", || (run_so_far() == 4).then_some(()));
    let engines = children_of(told.pid());
    assert_eq!(engines.len(), 2);
    engines.into_iter().chain([told.pid()]).for_each(|process| kill(process, "TERM"));
    // Samples that its engines have begun wait at the gate until it is asked to end.
    wait_until("it drains", || told.said().contains("draining").then_some(()));
    job.gate().open();
    let (code, said) = told.finish();
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("draining") && !said.contains("engine died"), "{said}");
    let begun = run_so_far();
    let rest = start("rest");
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert_eq!(rest.finish().0, Some(0));
    assert_same(&job, &undisturbed());
    let facts = job.facts();
    assert_eq!(facts["workers"]["told"]["results"].as_u64(), Some(begun as u64), "all that it ran was sent: {facts}");
    assert_eq!(run_so_far(), 2 * SAMPLES as usize, "and nothing was run again");
}
