//! `compass-worker serve-openai`: a model of this machine behind OpenAI's protocol, for tests of endpoints and for users that
//! want to ask it. Texts are continued and scored by the engine that evaluates, so that its numbers equal a run's.

mod arguments;
#[cfg(feature = "engine")]
mod compute;
#[cfg(feature = "engine")]
mod listener;
#[cfg(feature = "engine")]
mod protocol;
#[cfg(feature = "engine")]
mod server;

pub(crate) use arguments::ServeArgs;
pub use arguments::ServeOptions;
#[cfg(feature = "engine")]
pub use server::run;

/// Says that this build has no libtorch.
#[cfg(not(feature = "engine"))]
pub fn run(_: ServeOptions) -> std::process::ExitCode {
    use std::io::Write as _;
    let text = "compass-worker: this worker was built without libtorch; build it with its default features";
    let _ = writeln!(std::io::stderr(), "{text}");
    std::process::ExitCode::from(2)
}
