//! Runs `compass-master view`: pages of recorded runs, with no job running.

use super::cli::viewing::ViewArguments;
use compass_cli::exit;
use compass_common::status_output::{print_status, print_to_terminal};
use compass_diagnostic::Diagnostic;
use compass_jobs::{BearerToken, Failure, HttpSettings};
use compass_pages::HttpServer;
use compass_run_folder::RunFolder;
use std::path::Path;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Serves the pages until a signal comes.
///
/// # Errors
/// There is no such folder, the port is taken, or other hosts could read without a token.
pub async fn run(arguments: &ViewArguments, mut interrupted: watch::Receiver<Option<u8>>) -> Result<u8, Failure> {
    let folder = arguments.work_dir();
    let work_dir = match RunFolder::at(&folder) {
        // Of one run its folder may be named as well.
        Some(_) => folder.parent().unwrap_or(Path::new(".")).to_owned(),
        None if folder.is_dir() => folder,
        None => {
            let missing = Diagnostic::error(format!("there is no folder {}", folder.display()));
            return Err(Failure::bad_input(
                missing.with_help("name the work_dir of runs: compass-master view WORK_DIR"),
            ));
        }
    };
    let token = match &arguments.token_file {
        Some(file) => {
            let read = BearerToken::read(file, HttpSettings::ViewFlags);
            Some(read.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?)
        }
        None if arguments.listen.ip().is_loopback() => None,
        None => {
            let open = Diagnostic::error(format!("--listen {} is open to other hosts", arguments.listen));
            let help = "name a file with a random secret of at least 32 characters as --token-file, or listen on 127.0.0.1 and use \
                        `ssh -L 8080:127.0.0.1:8080 HOST`";
            return Err(Failure::bad_input(open.with_help(help)));
        }
    };
    let server = HttpServer::open(arguments.listen, token, None, HttpSettings::ViewFlags).await;
    let server = server.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    print_status(format!("runs in {} shown at {}", work_dir.display(), server.url()));
    if let Some(link) = server.link() {
        print_to_terminal(format!("a browser opens it without the token, once, by {link}"));
    }
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.serve_runs(work_dir, stop.clone()));
    let code = interrupted.wait_for(Option::is_some).await.map_or(None, |code| *code);
    stop.cancel();
    let _ = serving.await;
    // Being stopped is how it ends.
    Ok(code.map_or(exit::INFRASTRUCTURE, |_| exit::SCORED))
}
