//! The trainer: writes checkpoints in slow chunks, renames, removes and overwrites them, as a seed draws it. What is to happen
//! to others while it writes happens at a chunk, by its number.

use super::variant::Variant;
use compass_types::ids::Digest;
use compass_types::seeded::Rng;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Pieces in which a file of weights is written.
const CHUNKS: usize = 40;
/// Between two pieces, in milliseconds.
const SLOWEST_CHUNK_MS: u64 = 12;
/// Longer than any watch of a test waits for a checkpoint to rest.
const STALL: Duration = Duration::from_millis(1600);

/// A written checkpoint.
#[derive(Clone, Debug)]
pub struct Written {
    /// The checkpoint.
    pub name: String,
    /// Number of its variant.
    pub number: u64,
    /// Digest of its weights.
    pub content: Digest,
    /// Set if it is there to the end.
    pub stays: bool,
}

/// A trainer, and what happens after every chunk that it writes.
pub struct Trainer<F: FnMut(u64)> {
    after_chunk: F,
    chunks: u64,
    rng: Rng,
    /// Folder in which its checkpoints appear.
    folder: PathBuf,
    /// Folder in which each variant lies whole, by its number.
    staging: PathBuf,
    next: u64,
    written: Vec<Written>,
}

impl<F: FnMut(u64)> Trainer<F> {
    /// A trainer that draws from `seed`; `after_chunk` is told how many chunks are written, after each.
    pub fn new(seed: u64, folder: &Path, staging: &Path, after_chunk: F) -> Self {
        let (rng, folder, staging) = (Rng::new(seed), folder.into(), staging.into());
        Self { after_chunk, chunks: 0, rng, folder, staging, next: 0, written: Vec::new() }
    }

    /// Trains for this many checkpoints and returns what was written.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn train(mut self, checkpoints: u64) -> io::Result<Vec<Written>> {
        for step in 1..=checkpoints {
            self.checkpoint(&format!("step_{}", step * 100))?;
            // The checkpoints of the end stay, so that there is something to evaluate.
            if step > 2 && self.rng.chance(150) {
                self.overwrite()?;
            }
            if step > 2 && self.rng.chance(150) {
                self.remove()?;
            }
        }
        Ok(self.written)
    }

    fn variant(&mut self, sharded: bool) -> io::Result<(Variant, Digest)> {
        let variant = Variant { number: self.next, sharded };
        self.next += 1;
        Ok((variant, variant.write(&self.staging.join(variant.number.to_string()))?))
    }

    fn checkpoint(&mut self, name: &str) -> io::Result<()> {
        let sharded = self.rng.chance(400);
        let (variant, content) = self.variant(sharded)?;
        let place = self.folder.join(name);
        match self.rng.below(3) {
            // Under its own name from the beginning.
            0 => self.write(&variant, &place, "")?,
            // Under another name, until it is whole.
            1 => {
                let hidden = self.folder.join(format!("tmp-{name}"));
                self.write(&variant, &hidden, "")?;
                fs::rename(hidden, &place)?;
            }
            // Each file under another name, until that is whole.
            _ => self.write(&variant, &place, ".tmp")?,
        }
        let (name, number) = (name.to_owned(), variant.number);
        self.written.push(Written { name, number, content, stays: true });
        Ok(())
    }

    /// Writes a file after the other, the weights in pieces; at times the trainer stalls in the middle of one.
    fn write(&mut self, variant: &Variant, place: &Path, ending: &str) -> io::Result<()> {
        fs::create_dir_all(place)?;
        for (name, bytes) in variant.files()? {
            let path = place.join(format!("{name}{ending}"));
            if name.ends_with(".safetensors") {
                self.write_slowly(&path, &bytes)?;
            } else {
                fs::write(&path, bytes)?;
            }
            if !ending.is_empty() {
                fs::rename(path, place.join(name))?;
            }
        }
        Ok(())
    }

    fn write_slowly(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = fs::File::create(path)?;
        let stall = self.rng.chance(200).then(|| self.rng.below(CHUNKS as u64) as usize);
        for (at, chunk) in bytes.chunks(bytes.len().div_ceil(CHUNKS)).enumerate() {
            file.write_all(chunk)?;
            self.chunks += 1;
            (self.after_chunk)(self.chunks);
            let pause = Duration::from_millis(self.rng.below(SLOWEST_CHUNK_MS));
            let pause = pause + if stall == Some(at) { STALL } else { Duration::ZERO };
            #[expect(
                clippy::disallowed_methods,
                reason = "a trainer takes its time; however long, the numbers are the same"
            )]
            sleep(pause);
        }
        Ok(())
    }

    /// One of those that stay, if there is any beside the latest.
    fn earlier(&mut self) -> Option<usize> {
        let latest = self.written.len().checked_sub(1)?;
        let there: Vec<usize> = (0..latest).filter(|at| self.written.get(*at).is_some_and(|one| one.stays)).collect();
        there.get(self.rng.below(there.len() as u64) as usize).copied()
    }

    /// Writes another variant over a checkpoint, file by file and in place.
    fn overwrite(&mut self) -> io::Result<()> {
        let Some(before) = self.earlier().and_then(|at| self.written.get_mut(at)) else { return Ok(()) };
        before.stays = false;
        let name = before.name.clone();
        let place = self.folder.join(&name);
        // In the layout that is there: files of another would lie beside it.
        let (variant, content) = self.variant(!place.join("model.safetensors").exists())?;
        let weights = fs::read_dir(&place)?.flatten().map(|entry| entry.path());
        let weights = weights.filter(|path| path.extension().is_some_and(|kind| kind == "safetensors"));
        // Cut short first: half of the new and half of the old would be whole by its size.
        weights.map(|path| fs::File::create(path).map(drop)).collect::<io::Result<Vec<()>>>()?;
        self.write(&variant, &place, "")?;
        self.written.push(Written { name, number: variant.number, content, stays: true });
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        let Some(before) = self.earlier().and_then(|at| self.written.get_mut(at)) else { return Ok(()) };
        before.stays = false;
        let place = self.folder.join(&before.name);
        fs::remove_dir_all(place)
    }
}
