//! `[notify]`: people learn of the table, of a failure, and of undelivered notices; the exit code is the job's own.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{SAMPLES, echo_job, held_job};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

/// Posts that were received: path and body.
type Posted = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that takes posts; to `/bot` it answers as a bot of Lark that refuses.
fn server() -> (SocketAddr, Posted) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, posted) = (listener.local_addr().unwrap(), Posted::default());
    let kept = posted.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut head, mut line) = (Vec::new(), String::new());
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                head.push(std::mem::take(&mut line));
            }
            let path = head.first().and_then(|first| first.split(' ').nth(1)).unwrap_or_default().to_owned();
            let length =
                head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            kept.lock().unwrap().push((path.clone(), serde_json::from_slice(&body).unwrap_or_default()));
            let answer = if path == "/bot" { "{\"code\":19024,\"msg\":\"Key Words Not Found\"}" } else { "{}" };
            let _ = write!(
                reader.into_inner(),
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (address, posted)
}

#[test]
fn the_table_is_told_to_everybody() {
    let (address, posted) = server();
    let notify = format!(
        "[notify]\nwebhook = \"hook.txt\"\nlark_bot_url = \"http://{address}/bot\"\ncommand = [\"sh\", \"-c\", \
         \"cat > told.json; echo $COMPASS_EVENT > event\"]\n"
    );
    let job = echo_job("", &notify);
    // The address is a secret: it is in a file of its own.
    job.write("hook.txt", &format!("http://{address}/hook?secret=s3cr3t\n"));
    let finished = job.run(&[]).expect(0);
    let posted = posted.lock().unwrap().clone();
    let of = |wanted: &str| {
        let found: Vec<&Value> = posted.iter().filter(|(path, _)| path == wanted).map(|(_, body)| body).collect();
        assert_eq!(found.len(), 1, "{posted:?}");
        found[0].clone()
    };
    let told = of("/hook?secret=s3cr3t");
    assert_eq!((&told["event"], &told["exit_code"]), (&"end".into(), &0.into()));
    assert_eq!(told["samples"]["recorded"], 2 * SAMPLES);
    let text = told["text"].as_str().unwrap();
    assert!(text.starts_with("run ") && text.contains("has ended") && text.contains("choice_ppl"), "{text}");
    assert_eq!(of("/bot")["content"]["text"], text);
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(job.path("told.json")).unwrap()).unwrap(), told);
    assert_eq!(std::fs::read_to_string(job.path("event")).unwrap(), "end\n");
    let said = finished.stderr.clone();
    assert!(
        said.contains("warning: [notify] lark: the bot does not take it: code 19024 Key Words Not Found"),
        "{said}"
    );
    // No file of the run holds it.
    for (name, bytes) in compass_tests::tree_of(&job.latest()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t"), "{name} holds the address");
    }
}

#[test]
#[ignore = "nightly"]
fn what_cannot_be_told_is_a_warning() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let notify = format!("[notify]\nwebhook = \"http://{unused}/s3cr3t\"\ncommand = [\"false\"]\n");
    let job = echo_job("", &notify);
    let said = job.run(&[]).expect(0).stderr;
    let why = "warning: [notify] webhook: 127.0.0.1 did not take it within 10 s: it cannot be reached: ";
    assert!(said.contains(why) && said.contains("refused") && !said.contains("s3cr3t"), "{said}");
    assert!(said.contains("warning: [notify] command: `false` ended with exit status: 1"), "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_program_is_found_before_anything_runs() {
    let job = echo_job("", "[notify]\ncommand = [\"no-such-program\"]\n");
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("no program `no-such-program` of `command` on PATH"), "{said}");
    // A path is relative to the file, wherever the command is typed.
    let job = echo_job("", "[notify]\ncommand = [\"./tell.sh\", \"x\"]\n");
    assert!(job.run(&[]).expect(2).stderr.contains("no file `./tell.sh`"));
    job.write("tell.sh", "#!/bin/sh\ncat > \"$COMPASS_RUN_DIR/../../told.json\"\n");
    assert!(job.run(&[]).expect(2).stderr.contains("chmod +x"));
    std::fs::set_permissions(job.path("tell.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = job.path("eval.toml");
    let ended = job.command_of(config.to_str().unwrap(), &[]).current_dir("/").output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let told: Value = serde_json::from_slice(&std::fs::read(job.path("told.json")).unwrap()).unwrap();
    assert_eq!(told["event"], "end");
    // What the run keeps names the same program, and takes the same job.
    let resolved = std::fs::read_to_string(job.latest().join("configs/resolved.toml")).unwrap();
    assert!(resolved.contains("[notify]") && resolved.contains(job.path("tell.sh").to_str().unwrap()), "{resolved}");
}

#[test]
#[ignore = "nightly"]
fn who_asks_for_failures_alone_hears_of_samples_that_are_missing() {
    let (address, posted) = server();
    let mut job = echo_job("", &format!("[notify]\nwebhook = \"http://{address}/\"\non = [\"failure\"]\n"));
    job.run(&[]).expect(0);
    assert!(posted.lock().unwrap().is_empty(), "nothing failed");
    job.set_env("COMPASS_FAULT_DIE_ON", "What is 7?");
    job.run(&[]).expect(1);
    let posted = posted.lock().unwrap().clone();
    assert_eq!(posted.len(), 1, "{posted:?}");
    let told = &posted[0].1;
    assert_eq!((&told["event"], &told["exit_code"]), (&"end".into(), &1.into()));
    assert!(told["text"].as_str().unwrap().contains("has ended, and something is missing"), "{told}");
}

#[test]
#[ignore = "nightly"]
fn a_job_that_is_stopped_is_a_failure() {
    let (address, posted) = server();
    let job = held_job(20, "", &format!("[notify]\nwebhook = \"http://{address}/\"\non = [\"failure\"]\n"));
    let mut running = job.start(&[]);
    job.wait_until_durable();
    running.signal("TERM");
    job.trickle_until("the master ends", || running.has_ended());
    assert_eq!(running.finish().code, Some(143));
    let posted = posted.lock().unwrap().clone();
    assert_eq!(posted.len(), 1, "{posted:?}");
    let told = &posted[0].1;
    assert_eq!((&told["event"], &told["exit_code"]), (&"failure".into(), &143.into()));
    assert!(told["text"].as_str().unwrap().contains("every sample received is kept"), "{told}");
}

#[test]
#[ignore = "nightly"]
fn a_table_without_an_address_is_refused() {
    let said = |notify: &str| echo_job("", &format!("[notify]\n{notify}")).run(&[]).expect(2).stderr;
    let empty = said("on = [\"end\"]\n");
    assert!(
        empty.contains("[notify] names no address and no command") && empty.contains("nothing was started"),
        "{empty}"
    );
    let wrong = said("webhook = \"ftp.txt\"\non = [\"ends\"]\nidle = \"2s\"\n");
    for part in ["cannot read `webhook` from", "`on` cannot hold `ends`", "`idle` cannot be `2s`", "3 errors"] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
}
