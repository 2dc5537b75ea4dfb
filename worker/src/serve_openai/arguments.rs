//! The command line of `serve-openai`.

use clap::Args;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Texts are continued and scored:
    compass-worker serve-openai --model models/llama-3-8b
  Messages go through the model's chat template:
    compass-worker serve-openai --model models/llama-3-8b-instruct --chat

It serves /v1/models and /v1/chat/completions, and without --chat
/v1/completions, with `echo` and `logprobs`, or `prompt_logprobs`, for the
log-probabilities of a prompt; these load the weights a second time, in
float32. An address that is not loopback needs --key-file.

Exit codes:
  0  ended by SIGINT or SIGTERM
  2  wrong usage
  3  the model cannot be loaded, or the address cannot be used";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Directory of the model
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Name of the model in answers [default: the directory's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Address to listen at; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// auto, cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,
    /// Threads for what the CPU computes
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroU32,
    /// Prompts are messages, which go through the model's chat template
    #[arg(long)]
    chat: bool,
    /// Longest input in tokens [default: what the model's files say]
    #[arg(long, value_name = "N")]
    max_seq_len: Option<NonZeroU32>,
    /// File whose first line is the key that every request must have
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// Options of the server: its model and its address.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub model: PathBuf,
    pub name: String,
    pub listen: SocketAddr,
    pub device: String,
    pub threads: u32,
    pub chat: bool,
    pub max_seq_len: Option<u32>,
    pub key_file: Option<PathBuf>,
}

impl ServeArgs {
    pub(crate) fn options(self) -> ServeOptions {
        let of_folder = || self.model.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ServeOptions {
            name: self.name.clone().unwrap_or_else(of_folder),
            model: self.model,
            listen: self.listen,
            device: self.device,
            threads: self.threads.get(),
            chat: self.chat,
            max_seq_len: self.max_seq_len.map(NonZeroU32::get),
            key_file: self.key_file,
        }
    }
}
