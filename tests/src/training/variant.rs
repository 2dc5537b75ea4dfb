//! Checkpoints that differ: the demo's model with some numbers turned round, in one file or in shards.

use crate::{Job, demo_model, sums};
use compass_plan::ModelKind;
use compass_plan::weights::read;
use compass_types::ids::Digest;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// One number in as many as this is turned round.
const TURNED: u64 = 16;
/// Questions of the job.
const ROWS: usize = 40;

/// A worker on this host.
const LOCAL: &str = "[infer.runner]\ntype = \"local\"\nmax_num_workers = 1\n";

/// A job that asks the same few questions of `models`, pairs of a name and a path.
pub fn watched_job(models: &[(String, String)]) -> Job {
    let mut toml = String::new();
    for (abbr, path) in models {
        // Writing to a string cannot fail.
        let _ = writeln!(toml, "\n[[model]]\nabbr = \"{abbr}\"\npath = \"{path}\"");
    }
    let job = Job::new(&(toml + &sums::choices("rows.jsonl") + LOCAL));
    job.write("rows.jsonl", &sums::rows(ROWS));
    job
}

/// A checkpoint, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub number: u64,
    pub sharded: bool,
}

struct Tensor {
    name: String,
    entry: Value,
    bytes: Vec<u8>,
}

impl Variant {
    /// Its files with their names: first the small ones, then the weights.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn files(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let model = demo_model();
        let mut files = Vec::new();
        for name in ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
            files.push((name.to_owned(), fs::read(model.join(name))?));
        }
        let tensors = self.tensors(&fs::read(model.join("model.safetensors"))?)?;
        if !self.sharded {
            files.push(("model.safetensors".into(), safetensors(&tensors)?));
            return Ok(files);
        }
        let (first, second) = tensors.split_at(tensors.len() / 2);
        let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
        let map: Map<String, Value> = [first, second]
            .iter()
            .zip(shards)
            .flat_map(|(tensors, shard)| tensors.iter().map(move |tensor| (tensor.name.clone(), json!(shard))))
            .collect();
        files.push(("model.safetensors.index.json".into(), serde_json::to_vec(&json!({ "weight_map": map }))?));
        files.push((shards[0].into(), safetensors(first)?));
        files.push((shards[1].into(), safetensors(second)?));
        Ok(files)
    }

    /// Writes it whole into a folder and returns the digest of its weights.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write(&self, folder: &Path) -> io::Result<Digest> {
        fs::create_dir_all(folder)?;
        for (name, bytes) in self.files()? {
            fs::write(folder.join(name), bytes)?;
        }
        Ok(read(folder, folder, None, ModelKind::Hf)?.digest)
    }

    fn tensors(&self, bytes: &[u8]) -> io::Result<Vec<Tensor>> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let (header, data) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(short)?;
        let header: Map<String, Value> = serde_json::from_slice(header)?;
        let mut tensors = Vec::new();
        for (name, entry) in header.into_iter().filter(|(name, _)| name != "__metadata__") {
            let at = |place: usize| entry["data_offsets"][place].as_u64().unwrap_or_default() as usize;
            let mut bytes = data.get(at(0)..at(1)).ok_or_else(short)?.to_vec();
            let width = if entry["dtype"] == "F32" { 4 } else { 2 };
            if name.ends_with("mlp.down_proj.weight") && self.number > 0 {
                for (at, number) in bytes.chunks_exact_mut(width).enumerate() {
                    let drawn = (at as u64 + 1).wrapping_mul(self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) >> 40;
                    if drawn.is_multiple_of(TURNED) {
                        number[width - 1] ^= 0x80;
                    }
                }
            }
            tensors.push(Tensor { name, entry, bytes });
        }
        Ok(tensors)
    }
}

fn safetensors(tensors: &[Tensor]) -> io::Result<Vec<u8>> {
    let (mut header, mut at) = (Map::new(), 0);
    for Tensor { name, entry, bytes } in tensors {
        let mut entry = entry.clone();
        entry["data_offsets"] = json!([at, at + bytes.len()]);
        at += bytes.len();
        header.insert(name.clone(), entry);
    }
    let mut header = serde_json::to_vec(&header)?;
    // The tensors begin aligned.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    tensors.iter().for_each(|tensor| file.extend(&tensor.bytes));
    Ok(file)
}
