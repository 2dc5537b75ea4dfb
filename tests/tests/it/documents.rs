//! Claims of the documents: their commands parse, their configurations are accepted, their links lead somewhere,
//! and the examples run to a table.
//!
//! A line `# needs a cluster` or `# needs a GPU` in an example says that it is only dry-run here. Files and models that a
//! fragment names need not be there: every other complaint about it is a failure.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_config::{Overrides, load};
use compass_tests::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All Markdown that a user or a developer reads.
fn documents() -> Vec<PathBuf> {
    let root = repository();
    let mut found: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into();
    for folder in ["docs/src", "docs/src/design", "docs/measurements"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found
}

/// A block of code with the number of its first line.
type Block = (usize, String);

/// The blocks of a document in `language`.
fn blocks(text: &str, language: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match &mut open {
            Some(block) if line.starts_with("```") => {
                found.push(block.clone());
                open = None;
            }
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line == format!("```{language}") => open = Some((at + 2, String::new())),
            None => {}
        }
    }
    found
}

/// The words of a line of shell without its comment; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '#') if word.is_empty() => break,
            (None, ' ') => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(character),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[test]
fn every_command_of_the_documents_parses() {
    let mut checked = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for (line, block) in blocks(&text, "console") {
            for command in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
                let words = words(command);
                let Some(at) = words.iter().position(|word| ["compass-master", "compass-worker"].contains(&&**word))
                else {
                    continue;
                };
                // Flags that are not known, and values that are not taken, are refused before help is given.
                let output = Command::new(program(&words[at])).args(&words[at + 1..]).arg("--help").output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{}:{line}: {command}: {said}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked >= 40, "only {checked} commands were found");
}

/// Completes a fragment with what a configuration needs.
fn completed(fragment: &str) -> String {
    let demo = repository().join("deploy/demo");
    let has = |table: &str| fragment.lines().any(|line| line.starts_with(table));
    let mut whole = String::new();
    if !has("work_dir") {
        whole.push_str("work_dir = \"out\"\n");
    }
    whole.push_str(fragment);
    if !has("[[model]]") {
        let model = demo.join("model");
        whole.push_str(&format!("\n[[model]]\nabbr = \"demo\"\npath = \"{}\"\nmax_seq_len = 512\n", model.display()));
    }
    if !has("[[dataset]]") {
        let rows = demo.join("data/sums_test.jsonl");
        whole.push_str(&format!(
            "\n[[dataset]]\nabbr = \"sums\"\nreader_cfg = {{ input_columns = [\"question\"], output_column = \"answer\" }}\n\
             test = {{ path = \"{}\" }}\ninfer_cfg = {{ inferencer = {{ type = \"gen\", max_out_len = 4 }}, \
             prompt_template = \"{{question}}\" }}\neval_cfg = {{ evaluator = \"em\" }}\n",
            rows.display()
        ));
    }
    whole
}

#[test]
fn every_configuration_of_the_documents_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = Overrides { home: Some(folder.path().to_owned()), ..Overrides::default() };
    let mut checked = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for (line, block) in blocks(&text, "toml") {
            let file = folder.path().join("fragment.toml");
            fs::write(&file, completed(&block)).unwrap();
            checked += 1;
            let Err(complaints) = load(Some(&file), &overrides) else { continue };
            let missing = |message: &str| {
                ["no file `", "no directory `", "no folder `"].iter().any(|what| message.starts_with(what))
                    || message.contains("is in an object store, from which nothing is fetched here")
            };
            let wrong: Vec<String> =
                complaints.iter().filter(|found| !missing(&found.message)).map(ToString::to_string).collect();
            assert!(wrong.is_empty(), "{}:{line}: {}", path.display(), wrong.join("\n"));
        }
    }
    assert!(checked >= 10, "only {checked} configurations were found");
}

/// A copy of the examples beside the demo's files, with a hub cache that holds the demo's model under the name of the one
/// that an example asks for.
struct Examples {
    folder: tempfile::TempDir,
}

impl Examples {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = repository();
        std::os::unix::fs::symlink(root.join("deploy"), folder.path().join("deploy")).unwrap();
        for name in ["examples", "examples/data", "examples/data/thinking"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            for entry in fs::read_dir(root.join(name)).unwrap().map(|entry| entry.unwrap()) {
                if entry.file_type().unwrap().is_file() {
                    fs::copy(entry.path(), folder.path().join(name).join(entry.file_name())).unwrap();
                }
            }
        }
        let model = folder.path().join("hub/models--HuggingFaceTB--SmolLM2-135M");
        fs::create_dir_all(model.join("refs")).unwrap();
        fs::create_dir_all(model.join("snapshots")).unwrap();
        fs::write(model.join("refs/main"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("deploy/demo/model"), model.join("snapshots/x")).unwrap();
        Self { folder }
    }

    /// Names of the examples, and whether each runs on this machine alone.
    fn all(&self) -> Vec<(String, bool)> {
        let mut all: Vec<(String, bool)> = fs::read_dir(self.folder.path().join("examples"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .map(|path| {
                let text = fs::read_to_string(&path).unwrap();
                let here = !text.lines().any(|line| line.starts_with("# needs a "));
                (path.file_name().unwrap().to_string_lossy().into_owned(), here)
            })
            .collect();
        all.sort();
        all
    }

    fn master(&self, name: &str, more: &[&str]) -> Output {
        let mut command = Command::new(program("compass-master"));
        command.current_dir(self.folder.path()).args(["--config", &format!("examples/{name}")]).args(more);
        let home = self.folder.path().join("home");
        fs::create_dir_all(&home).unwrap();
        command.env("HOME", home).env("HF_HUB_CACHE", self.folder.path().join("hub")).env_remove("HF_HOME");
        command.output().unwrap()
    }
}

#[test]
fn every_example_is_accepted() {
    let examples = Examples::new();
    let all = examples.all();
    assert!(all.len() >= 10, "only {} examples", all.len());
    for (name, _) in all {
        let output = examples.master(&name, &["--dry-run"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "examples/{name}: {said}");
    }
}

#[test]
fn every_example_that_needs_no_cluster_ends_with_its_table() {
    let examples = Examples::new();
    let here: Vec<String> = examples.all().into_iter().filter(|(_, here)| *here).map(|(name, _)| name).collect();
    assert!(here.len() >= 6, "only {} examples run here", here.len());
    let sandboxed =
        Command::new(program("compass-worker")).args(["sandbox", "--check"]).output().unwrap().status.success();
    for name in here {
        if name == "programs.toml" && !sandboxed {
            compass_needs::skipped(compass_needs::Need::Sandbox, "examples/programs.toml runs programs in a sandbox");
            continue;
        }
        let output = examples.master(&name, &["--limit", "20"]);
        let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "examples/{name}: {said}");
        let rows = table.lines().skip_while(|line| !line.starts_with("---")).skip(1);
        let rows: Vec<&str> = rows.take_while(|row| !row.is_empty()).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.contains('(') || row.contains('.')), "{name}: {table}");
    }
}

#[test]
fn links_lead_somewhere_and_every_page_is_in_the_book() {
    let summary = fs::read_to_string(repository().join("docs/src/SUMMARY.md")).unwrap();
    let mut links = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, _) = target.split_once('#').unwrap_or((target, ""));
            if file.is_empty() || file.contains("://") {
                continue;
            }
            links += 1;
            let led = path.parent().unwrap().join(file);
            assert!(led.exists(), "{} links to {target}, which is not there", path.display());
        }
        if let Ok(page) = path.strip_prefix(repository().join("docs/src")) {
            let is_listed = page == Path::new("SUMMARY.md") || summary.contains(&format!("({})", page.display()));
            assert!(is_listed, "docs/src/SUMMARY.md does not list {}", page.display());
        }
    }
    assert!(links >= 30, "only {links} links");
}

#[test]
fn first_pages_are_short() {
    for (name, most) in [("README.md", 6 * 1024), ("ARCHITECTURE.md", 10 * 1024)] {
        let length = fs::metadata(repository().join(name)).unwrap().len();
        assert!(length <= most, "{name} has {length} bytes, of {most}");
    }
}
