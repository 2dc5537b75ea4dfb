//! The pages of a run of 200,000 samples in a real Chromium: their weight, what moves and what keeps its focus, memory over the
//! time of the run, hostile texts, a master that is killed. Prints what was measured; exit code 1 where something did not hold.
//!
//! `browser [--minutes N]`: how long the run takes, 1 unless told otherwise.

mod chromium;
mod hostile;
mod job;

use chromium::{Browser, BrowserError};
use job::{Job, Running, free_port, wait_until};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const SAMPLES: u32 = 100_000;
const MODELS: [&str; 2] = ["one", "two"];
const SLOTS: u32 = 2;
/// Largest page, in bytes.
const PAGE_BYTES: usize = 100_000;
/// Longest time to the first paint, and until a dead master is reported, in milliseconds.
const PAINT_MS: f64 = 1_000.0;
const LOST_MS: u128 = 5_000;
/// Ratio of a page's memory at the end to its memory when it had settled, at most.
const GROWTH: f64 = 1.2;

/// Results of the checks.
#[derive(Debug, Default)]
struct Report {
    failed: u32,
}

impl Report {
    fn say(&mut self, what: &str, holds: bool, figure: impl std::fmt::Display) {
        self.failed += u32::from(!holds);
        println!("{:6} {what}: {figure}", if holds { "ok" } else { "FAILED" });
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let minutes = match words.as_slice() {
        [] => Some(1),
        [flag, minutes] if flag == "--minutes" => minutes.parse().ok().filter(|minutes| *minutes > 0),
        _ => None,
    };
    let Some(minutes) = minutes else {
        eprintln!("usage: browser [--minutes N]");
        return ExitCode::from(2);
    };
    let missing: Vec<&str> = ["chromium", "chromedriver"].into_iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        println!("skipped: {} is not installed (apt-get install chromium chromium-driver)", missing.join(" and "));
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let looked = runtime.map_err(BrowserError::from).and_then(|runtime| runtime.block_on(look(minutes)));
    match looked {
        Ok(Report { failed: 0 }) => ExitCode::SUCCESS,
        Ok(Report { failed }) => {
            println!("{failed} did not hold");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_there(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// A run that takes this many minutes, on a port that its next master will have again.
fn job(minutes: u32, port: u16) -> std::io::Result<Job> {
    let models = MODELS.map(|model| format!("[[model]]\nabbr = \"{model}\"\ntype = \"echo\"\n")).concat();
    let toml = format!(
        "work_dir = \"out\"\n[master]\nstate_dir = \"state\"\nhttp = \"127.0.0.1:{port}\"\n{models}\n{}",
        hostile::DATASET
    );
    let samples = SAMPLES * MODELS.len() as u32;
    let delay = f64::from(minutes * 60_000 * SLOTS) / f64::from(samples);
    Job::new(&toml, &hostile::rows(SAMPLES), &format!("{:.0}", delay.max(1.0)))
}

fn start(job: &Job, arguments: &[&str]) -> std::io::Result<Running> {
    let slots = SLOTS.to_string();
    job.start(&[&["--config", "eval.toml", "--max-num-workers", slots.as_str()], arguments].concat())
}

/// The body of a page, without a browser.
fn fetch(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

async fn look(minutes: u32) -> Result<Report, BrowserError> {
    let mut report = Report::default();
    let port = free_port();
    let job = job(minutes, port)?;
    let mut master = start(&job, &[])?;
    let recorded = || {
        let status: Value = serde_json::from_str(&fetch(port, "/status.json").ok()?).ok()?;
        status["recorded_samples"].as_u64().filter(|recorded| *recorded > 500)
    };
    wait_until("samples are recorded", recorded);
    let status: Value = serde_json::from_str(&fetch(port, "/status.json")?).unwrap_or_default();
    let run = status["run"].as_str().unwrap_or_default().to_owned();

    let browser = Browser::open(&[]).await?;
    let origin = format!("http://127.0.0.1:{port}");
    browser.goto(&format!("{origin}/")).await?;
    for path in ["/".to_owned(), "/runs".to_owned(), format!("/runs/{run}"), format!("/runs/{run}/samples")] {
        let bytes = fetch(port, &path)?.len();
        report.say(
            &format!("weight of {}", path.replace(&run, "RUN")),
            bytes > 500 && bytes < PAGE_BYTES,
            format!("{bytes} bytes"),
        );
    }
    let paint = browser.number("performance.getEntriesByName('first-contentful-paint')[0].startTime").await?;
    report.say("first paint", paint < PAINT_MS, format!("{paint:.0} ms"));
    fields_keep_focus(&browser, &mut report).await?;
    hostile::look(&browser, &origin, &run, &mut report).await?;
    keyboard(&browser, &origin, &mut report).await?;

    // Memory, with events coming in, for half of the run.
    browser.goto(&format!("{origin}/")).await?;
    browser.wait(Duration::from_secs(10)).await;
    let settled = browser.heap().await?;
    let until = Instant::now() + Duration::from_secs(u64::from(minutes) * 30);
    let mut heap = settled;
    while Instant::now() < until {
        browser.wait(Duration::from_secs(5)).await;
        heap = browser.heap().await?;
    }
    let held = heap < settled * GROWTH;
    report.say(
        "memory of a page",
        held,
        format!("{:.1} MiB settled, {:.1} MiB at the end", settled / 1048576.0, heap / 1048576.0),
    );

    let left = browser.number("performance.getEntriesByType('resource').filter((entry) => !entry.name.startsWith(location.origin)).length").await?;
    report.say("requests to other hosts", left == 0.0, left);

    // The master dies, is missed, and comes back.
    let killed = Instant::now();
    master.kill()?;
    while !browser.is_true("!document.getElementById('lost').hidden").await?
        && killed.elapsed() < Duration::from_secs(30)
    {
        browser.wait(Duration::from_millis(50)).await;
    }
    let missed = killed.elapsed().as_millis();
    report.say("a killed master is said", missed <= LOST_MS, format!("after {missed} ms"));
    let mut next = start(&job, &["-r"])?;
    let again = Instant::now();
    while !browser.is_true("document.getElementById('lost').hidden").await? && again.elapsed() < Duration::from_secs(60)
    {
        browser.wait(Duration::from_millis(100)).await;
    }
    let back = browser.is_true("document.getElementById('lost').hidden").await?;
    report.say(
        "the page recovers by itself",
        back,
        format!("{} ms after the next master was started", again.elapsed().as_millis()),
    );
    let before = browser.text("progress").await?;
    browser.wait(Duration::from_secs(4)).await;
    let moved = browser.text("progress").await?;
    report.say(
        "it goes on",
        moved != before,
        moved.lines().find(|line| line.contains(" of ")).unwrap_or_default().to_owned(),
    );
    widths(&origin, &run, &mut report).await?;
    dark(&origin, &mut report).await?;
    let code = next.wait()?;
    report.say("the run ends", code == Some(0), format!("exit code {code:?}"));
    browser.close().await?;
    Ok(report)
}

/// The score moves while a field has the focus, and the field keeps it with its text.
async fn fields_keep_focus(browser: &Browser, report: &mut Report) -> Result<(), BrowserError> {
    browser.type_into("#filter", "TWO choice").await?;
    let rows = "[...document.querySelectorAll('#scores tbody tr')].filter((row) => !row.hidden).length";
    report.say("rows that the field leaves", browser.number(rows).await? <= 1.0, browser.number(rows).await?);
    let before = browser.text("scores").await?;
    let begun = Instant::now();
    while browser.text("scores").await? == before && begun.elapsed() < Duration::from_secs(20) {
        browser.wait(Duration::from_millis(100)).await;
    }
    report.say(
        "scores move",
        begun.elapsed() < Duration::from_secs(20),
        format!("after {} ms", begun.elapsed().as_millis()),
    );
    let kept = "document.activeElement.id === 'filter' && document.activeElement.value === 'TWO choice'";
    report.say("the field keeps focus and text", browser.is_true(kept).await?, "");
    Ok(())
}

/// The pages are reached by keys alone.
async fn keyboard(browser: &Browser, origin: &str, report: &mut Report) -> Result<(), BrowserError> {
    browser.goto(&format!("{origin}/")).await?;
    let mut met = Vec::new();
    for _ in 0..8 {
        browser.press_tab().await?;
        met.push(
            browser.string("(document.activeElement.id || document.activeElement.getAttribute('href') || '')").await?,
        );
    }
    let reached = ["/runs", "filter"].iter().all(|wanted| met.iter().any(|met| met == wanted));
    report.say("links and field are reached by keys", reached, met.join(" "));
    Ok(())
}

/// In a wide window pages use its width; in a narrow one a table scrolls in its box, which shows that there is more of it.
async fn widths(origin: &str, run: &str, report: &mut Report) -> Result<(), BrowserError> {
    for width in [500, 1400] {
        let browser = Browser::open(&[format!("--window-size={width},900")]).await?;
        browser.goto(&format!("{origin}/runs/{run}/samples")).await?;
        let page = browser.number("document.documentElement.scrollWidth - window.innerWidth").await?;
        report.say(&format!("nothing but tables scrolls at {width} px"), page <= 0.0, page);
        let body = browser.number("window.innerWidth - document.querySelector('table').clientWidth").await?;
        report.say(&format!("tables use {width} px"), body < 80.0, format!("all but {body}"));
        let hint = "getComputedStyle(document.querySelector('table')).backgroundAttachment.includes('local')";
        report.say(&format!("a table shows its edge at {width} px"), browser.is_true(hint).await?, "");
        browser.close().await?;
    }
    Ok(())
}

/// The colours where dark ones are wished for.
async fn dark(origin: &str, report: &mut Report) -> Result<(), BrowserError> {
    let colour = "getComputedStyle(document.body).backgroundColor";
    let mut seen = Vec::new();
    for scheme in ["1", "0"] {
        let browser = Browser::open(&[format!("--blink-settings=preferredColorScheme={scheme}")]).await?;
        browser.goto(&format!("{origin}/runs")).await?;
        seen.push(browser.string(colour).await?);
        browser.close().await?;
    }
    report.say("light and dark differ", seen[0] != seen[1], seen.join(" and "));
    Ok(())
}
