//! The demo's model behind two endpoints of `compass-worker serve-openai`.

use compass_tests::{copy_demo_model, program};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Turns of a conversation one after the other: the demo's model has no template of its own.
const TEMPLATE: &str =
    "{% for m in messages %}{{ m.content }}{{ '\\n' if m.role == 'assistant' else ' ' }}{% endfor %}";

/// A server that is killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Address without the path of the API.
    pub(crate) url: String,
}

impl Server {
    /// Starts one for the model in `folder` and waits until it says its address.
    pub(crate) fn start(folder: &Path, chat: bool) -> Option<Self> {
        let mut command = Command::new(program("compass-worker"));
        command.args(["serve-openai", "--listen", "127.0.0.1:0", "--name", "demo", "--device", "cpu", "--model"]);
        command.arg(folder).args(chat.then_some("--chat")).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut lines = BufReader::new(child.stderr.take()?).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.split_once("serving at ").map(|(_, url)| url.trim().to_owned()))?;
        // Its later output must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A copy of the demo's model that has a chat template.
pub(crate) fn copy_with_template(to: &Path) -> Option<()> {
    copy_demo_model(to).ok()?;
    let file = to.join("tokenizer_config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
    config.as_object_mut()?.insert("chat_template".into(), TEMPLATE.into());
    std::fs::write(file, config.to_string()).ok()
}
