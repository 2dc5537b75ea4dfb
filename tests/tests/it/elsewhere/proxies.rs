//! The hub through proxies, in plain text and with TLS, as the variables of the environment say.

use crate::elsewhere::job::{LOCAL, expected, job, outcome};
use compass_mirrors::{Certificate, HubMirror, Proxy};
use compass_tests::{Job, demo_model};

/// A job with the demo's model by its name at `endpoint`. The variables of the person who runs the tests do not count.
fn job_at(endpoint: &str) -> Job {
    let mut job = job("path = \"org/demo\"", "rows.jsonl", LOCAL);
    let home = job.path("hf").display().to_string();
    ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].iter().for_each(|name| set_proxy(&mut job, name, ""));
    // Authorities that would take the place of those in SSL_CERT_FILE.
    job.set_env("AWS_CA_BUNDLE", "");
    job.set_env("REQUESTS_CA_BUNDLE", "");
    job.set_env("HF_ENDPOINT", endpoint);
    job.set_env("HF_HOME", &home);
    job
}

/// Sets a variable in both cases: an empty one in the other case would count.
fn set_proxy(job: &mut Job, name: &str, value: &str) {
    job.set_env(name, value);
    job.set_env(&name.to_uppercase(), value);
}

#[test]
#[ignore = "nightly"]
fn a_plain_hub_is_asked_through_the_proxy_of_http() {
    let mirror = HubMirror::start().unwrap();
    mirror.put_folder("org/demo", &demo_model()).unwrap();
    let proxy = Proxy::start([("hub.test:80", mirror.addresses().0)]).unwrap();
    let mut job = job_at("http://hub.test");
    set_proxy(&mut job, "http_proxy", &proxy.url());
    let finished = job.run(&[]).expect(0);
    assert!(outcome(&job) == expected(), "{}", finished.stderr);
    let requests = proxy.requests();
    let listing = "GET http://hub.test/api/models/org/demo/revision/main?blobs=true";
    assert!(requests.iter().any(|request| request == listing), "{requests:?}");
    assert!(requests.iter().all(|request| request.starts_with("GET http://hub.test/")), "{requests:?}");
}

#[test]
#[ignore = "nightly"]
fn a_hub_with_tls_is_asked_through_a_tunnel_and_its_certificate_is_checked() {
    let certificate = Certificate::new(&["hub.test", "files.test"]).unwrap();
    let mirror = HubMirror::start_tls(certificate.clone(), "https://files.test").unwrap();
    mirror.put_folder("org/demo", &demo_model()).unwrap();
    let (hub, files) = mirror.addresses();
    let proxy = Proxy::start([("hub.test:443", hub), ("files.test:443", files)]).unwrap();
    let mut job = job_at("https://hub.test");
    set_proxy(&mut job, "https_proxy", &proxy.url());
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("from the hub https://hub.test") && said.contains("invalid peer certificate"), "{said}");
    assert!(mirror.requests().is_empty(), "nothing is asked of a host whose certificate is not trusted");
    job.write("authority.pem", certificate.pem());
    let authority = job.path("authority.pem").display().to_string();
    job.set_env("SSL_CERT_FILE", &authority);
    let finished = job.run(&[]).expect(0);
    assert!(outcome(&job) == expected(), "{}", finished.stderr);
    let requests = proxy.requests();
    for host in ["CONNECT hub.test:443", "CONNECT files.test:443"] {
        assert!(requests.iter().any(|request| request == host), "{host}: {requests:?}");
    }
    assert!(requests.iter().all(|request| request.starts_with("CONNECT ")), "{requests:?}");
}

#[test]
#[ignore = "nightly"]
fn no_proxy_names_hosts_that_are_asked_directly() {
    let mirror = HubMirror::start().unwrap();
    let proxy = Proxy::start([("hub.test:80", mirror.addresses().0)]).unwrap();
    let mut job = job_at("http://hub.test");
    set_proxy(&mut job, "http_proxy", &proxy.url());
    set_proxy(&mut job, "no_proxy", "other.example,.test");
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("cannot read `org/demo` at revision `main` from the hub http://hub.test"), "{said}");
    assert_eq!(proxy.requests(), Vec::<String>::new());
    // A proxy that does not answer is named.
    set_proxy(&mut job, "no_proxy", "");
    set_proxy(&mut job, "http_proxy", "http://127.0.0.1:1");
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("through the proxy http://127.0.0.1:1"), "{said}");
}
