//! Logs: structured fields on standard error, filtered by `COMPASS_LOG`. Standard output is left to data.

use crate::log_time::LogTime;
use crate::screen::Screen;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// The variable that overrides the level, in `tracing`'s directive syntax: `debug`, `info,compass_master=trace`.
pub const LOG_VARIABLE: &str = "COMPASS_LOG";

/// The variable that chooses how lines look: `text`, or `json` for one object per line.
pub const FORMAT_VARIABLE: &str = "COMPASS_LOG_FORMAT";

/// Reason why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level, or the variable, is not a filter.
    #[error("`{0}` is not a log filter: write a level (error, warn, info, debug, trace) or `target=level,...`")]
    Filter(String, #[source] tracing_subscriber::filter::ParseError),
    /// The format's variable names none.
    #[error("`{0}` is not a log format: COMPASS_LOG_FORMAT is `text` or `json`")]
    Format(String),
    /// Another subscriber is already in place.
    #[error("logging is already set up in this process")]
    Installed(#[source] tracing_subscriber::util::TryInitError),
}

/// Installs the process-wide subscriber: `level` unless [`LOG_VARIABLE`] is set and not empty; no colour when standard
/// error is not a terminal or `NO_COLOR` is set.
///
/// # Errors
/// [`TelemetryError::Filter`] for a malformed filter, [`TelemetryError::Format`] for an unknown format,
/// [`TelemetryError::Installed`] at a second call.
pub fn init(level: &str) -> Result<(), TelemetryError> {
    use tracing_subscriber::util::SubscriberInitExt;
    let text = std::env::var(LOG_VARIABLE).ok().filter(|text| !text.is_empty()).unwrap_or_else(|| level.into());
    // https://no-color.org
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(&text)?)
        .with_writer(Screen)
        .with_timer(LogTime)
        .with_ansi(std::io::stderr().is_terminal() && !crate::status_output::refuses_colour())
        // It would complain on standard error, and panic where that is closed: a log without a reader must not end a run.
        .log_internal_errors(false);
    let json = match std::env::var(FORMAT_VARIABLE).as_deref() {
        Ok("json") => true,
        Err(_) | Ok("" | "text") => false,
        Ok(other) => return Err(TelemetryError::Format(other.into())),
    };
    let installed = if json { builder.json().finish().try_init() } else { builder.finish().try_init() };
    installed.map_err(TelemetryError::Installed)
}

fn filter(text: &str) -> Result<EnvFilter, TelemetryError> {
    EnvFilter::builder().parse(text).map_err(|source| TelemetryError::Filter(text.into(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_is_an_error_that_names_it() {
        let error = filter("compass=loud").unwrap_err().to_string();
        assert!(error.starts_with("`compass=loud` is not a log filter"), "{error}");
        assert_eq!(filter("info,compass_master=trace").unwrap().to_string(), "compass_master=trace,info");
    }

    #[test]
    fn a_second_installation_is_refused() {
        // Another test of this process may have been first; after this line there is one subscriber in any case.
        let _ = init("warn");
        assert!(matches!(init("warn"), Err(TelemetryError::Installed(_))));
    }
}
