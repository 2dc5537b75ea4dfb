//! Directories that are copies of each other, and directories that are not.

use super::super::{Content, mark, shown_size};
use super::*;
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::symlink;

/// Bytes of each tensor; the samples lie in the middle.
const TENSOR: usize = 20_000;

/// A file of safetensors with so many tensors, all bytes of which are their number.
fn safetensors(tensors: usize) -> Vec<u8> {
    let entry = |at: usize| {
        let (first, end) = (at * TENSOR, (at + 1) * TENSOR);
        format!(r#""t{at}":{{"dtype":"F32","shape":[5000],"data_offsets":[{first},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..tensors).map(entry).collect::<Vec<_>>().join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend((0..tensors).flat_map(|at| vec![at as u8; TENSOR]));
    bytes
}

/// A model in a directory of its own.
fn model() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    write("model.safetensors", &safetensors(3));
    for name in ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
        write(name, name.as_bytes());
    }
    write("chat_template.jinja", b"hello");
    std::fs::create_dir(directory.path().join(TEMPLATES)).unwrap();
    write("additional_chat_templates/tool_use.jinja", b"tools");
    write("README.md", b"not of the model");
    directory
}

fn digest(directory: &Path) -> WeightsDigest {
    read(directory, directory, None, ModelKind::Hf).unwrap()
}

#[test]
fn a_copy_elsewhere_has_the_same_digest_whatever_lies_beside_it() {
    let (one, two) = (model(), model());
    std::fs::write(two.path().join("README.md"), "another").unwrap();
    std::fs::write(two.path().join("trainer_state.json"), "{}").unwrap();
    assert_eq!(digest(one.path()), digest(two.path()));
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"] {
        std::fs::rename(two.path().join(name), elsewhere.path().join(name)).unwrap();
    }
    std::fs::rename(two.path().join(TEMPLATES), elsewhere.path().join(TEMPLATES)).unwrap();
    std::fs::write(two.path().join("config.json"), "config.json").unwrap();
    assert_eq!(digest(one.path()), read(two.path(), elsewhere.path(), None, ModelKind::Hf).unwrap());
}

#[test]
fn links_to_files_and_folders_change_nothing() {
    let (one, links) = (model(), tempfile::tempdir().unwrap());
    for name in names_in(one.path()).unwrap() {
        symlink(one.path().join(&name), links.path().join(&name)).unwrap();
    }
    assert_eq!(digest(one.path()), digest(links.path()));
    let folder = links.path().join("latest");
    symlink(one.path(), &folder).unwrap();
    assert_eq!(digest(one.path()), digest(&folder));
}

#[test]
fn a_byte_that_differs_is_named_by_its_file() {
    let one = model();
    let before = digest(one.path());
    let header = safetensors(3).len() - 3 * TENSOR;
    let cases = [
        ("model.safetensors", header + TENSOR + TENSOR / 2),
        ("model.safetensors", 20),
        ("config.json", 3),
        ("generation_config.json", 3),
        ("tokenizer.json", 3),
        ("tokenizer_config.json", 3),
        ("chat_template.jinja", 0),
        ("additional_chat_templates/tool_use.jinja", 0),
    ];
    for (name, at) in cases {
        let path = one.path().join(name);
        let bytes = std::fs::read(&path).unwrap();
        let mut other = bytes.clone();
        other[at] ^= 1;
        std::fs::write(&path, other).unwrap();
        let said = before.difference(&digest(one.path())).unwrap();
        assert!(said.ends_with(&format!("{name} has other content")), "{name} {at}: {said}");
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(before.difference(&digest(one.path())), None);
    }
}

#[test]
fn files_that_come_or_go_or_are_cut_short_change_it() {
    let one = model();
    let before = digest(one.path());
    let whole = safetensors(3);
    let path = one.path().join("model.safetensors");
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let said = before.difference(&digest(one.path())).unwrap();
    assert!(said.ends_with(&format!("model.safetensors has {} bytes instead of {}", whole.len() - 1, whole.len())));
    std::fs::write(&path, whole).unwrap();
    std::fs::write(one.path().join("special_tokens_map.json"), "{}").unwrap();
    let said = before.difference(&digest(one.path())).unwrap();
    assert!(said.ends_with("special_tokens_map.json is one too many"), "{said}");
    std::fs::remove_file(one.path().join("special_tokens_map.json")).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(read(one.path(), one.path(), None, ModelKind::Hf).is_err(), "no weights, no digest");
}

#[test]
fn shards_and_other_formats() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    let names =
        |kind| read(directory.path(), directory.path(), None, kind).unwrap().files.into_keys().collect::<Vec<_>>();
    write("model-1.safetensors", &safetensors(1));
    write("model-2.safetensors", &safetensors(2));
    write(
        "model.safetensors.index.json",
        br#"{"weight_map": {"a": "model-2.safetensors", "b": "model-1.safetensors"}}"#,
    );
    assert_eq!(names(ModelKind::Hf), ["weights/model-1.safetensors", "weights/model-2.safetensors"]);
    write("consolidated.00.pth", &[7; 20_000]);
    write("params.json", b"{}");
    write("tokenizer.model", b"spm");
    assert_eq!(
        names(ModelKind::Llama),
        ["config/params.json", "tokenizer/tokenizer.model", "weights/consolidated.00.pth"]
    );
    let before = read(directory.path(), directory.path(), None, ModelKind::Llama).unwrap();
    for at in [0, 10_000, 19_999] {
        let mut bytes = vec![7; 20_000];
        bytes[at] = 8;
        write("consolidated.00.pth", &bytes);
        let now = read(directory.path(), directory.path(), None, ModelKind::Llama).unwrap();
        assert!(before.difference(&now).unwrap().contains("consolidated.00.pth"), "{at}");
    }
}

/// Counts what is read of a file.
struct Counted<'a>(&'a File, Cell<u64>);

impl Content for Counted<'_> {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.1.set(self.1.get() + range.end - range.start);
        self.0.bytes(range)
    }
}

#[test]
fn of_a_large_file_some_kilobytes_are_read_for_each_tensor() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let entry = |at: u64| {
        let (first, end) = (at << 26, (at + 1) << 26);
        format!(r#""layer.{at}":{{"dtype":"BF16","shape":[8192,4096],"data_offsets":[{first},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..291).map(entry).collect::<Vec<_>>().join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    std::fs::write(&path, &bytes).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    file.set_len(bytes.len() as u64 + (291 << 26)).unwrap();
    let counted = Counted(&file, Cell::default());
    let marked = mark(&counted, DigestExtent::Tensors).unwrap();
    assert_eq!(marked.bytes, bytes.len() as u64 + (291 << 26));
    assert_eq!(counted.1.get(), 8 + bytes.len() as u64 + 291 * 4096);
    let began = std::time::Instant::now();
    assert_eq!(mark(&file, DigestExtent::Tensors).unwrap(), marked);
    eprintln!("291 tensors of {}: {:.1?} with a warm cache", shown_size(marked.bytes), began.elapsed());
}

#[test]
fn an_adapter_is_a_part_of_what_a_model_is_known_by() {
    let (model, adapter) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(model.path().join("config.json"), "{}").unwrap();
    std::fs::write(model.path().join("pytorch_model.bin"), "weights").unwrap();
    let digest = |adapter| read(model.path(), model.path(), adapter, ModelKind::Hf).map(|digest| digest.digest);
    let plain = digest(None).unwrap();
    assert!(digest(Some(adapter.path())).is_err(), "an adapter without weights");
    std::fs::write(adapter.path().join("adapter_config.json"), "{}").unwrap();
    std::fs::write(adapter.path().join("adapter_model.safetensors"), "one").unwrap();
    let one = digest(Some(adapter.path())).unwrap();
    std::fs::write(adapter.path().join("adapter_model.safetensors"), "two").unwrap();
    let other = digest(Some(adapter.path())).unwrap();
    assert!(plain != one && one != other && other != plain);
}
