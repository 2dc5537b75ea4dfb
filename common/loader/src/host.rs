//! The world as the evaluated Python sees it: variables, modules, files and tables.

use crate::observed::{self, Look};
use crate::tables;
use crate::world::TreeWorld;
use compass_common::regular_file;
use compass_config::library_module;
use compass_python::{FileFault, FileKind, Host, Imported, Library, LibrarySource, TableRequest, Tables};
use std::path::{Path, PathBuf};

/// Largest data file that is read.
const MOST_BYTES: u64 = 2 << 30;
/// Variables that would lead a loader to another hub, whose data is not read here.
const UNSET: &[&str] = &["DATASET_SOURCE"];

impl Host for TreeWorld<'_> {
    fn base(&self, _: &Path, _: u32, module: &str) -> Imported {
        Imported::Missing { reason: format!("No module named '{module}'"), help: None }
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        let bytes = self.bytes(path).map_err(|fault| format!("{fault:?}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", path.display()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        if UNSET.contains(&name) {
            return None;
        }
        let look = Look::Variable(name.to_owned());
        let value = look.now(&self.world.variables);
        self.saw(look, value.clone());
        value
    }
}

impl Library for TreeWorld<'_> {
    fn module(&self, dotted: &str) -> Option<LibrarySource> {
        library_module(self.world, dotted)
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, FileFault> {
        let place = self.allowed(path)?;
        let bytes = regular_file::read(&place, MOST_BYTES);
        let bytes = bytes.map_err(|error| FileFault::Other(format!("`{}`: {error}", place.display())))?;
        self.saw(Look::Data(place), Some(blake3::hash(&bytes).to_hex().to_string()));
        Ok(bytes)
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        let place = self.allowed(path).ok()?;
        let kind = observed::kind(&place);
        self.saw(Look::Kind(place), kind.map(str::to_owned));
        kind.map(|kind| if kind == "folder" { FileKind::Folder } else { FileKind::File })
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, FileFault> {
        let place = self.allowed(path)?;
        let names = observed::names(&place);
        let names = names.ok_or_else(|| FileFault::Other(format!("`{}` is not a folder", place.display())))?;
        self.saw(Look::Names(place), Some(names.join("\n")));
        Ok(names)
    }

    fn data(&self, path: &str) -> Result<PathBuf, FileFault> {
        let place = self.place(Path::new(path));
        self.saw(Look::Kind(place.clone()), observed::kind(&place).map(str::to_owned));
        if place.exists() { Ok(place) } else { Err(FileFault::Missing(place)) }
    }

    fn tables(&self, request: &TableRequest, split: Option<&str>) -> Result<Tables, FileFault> {
        tables::read(self, request, split)
    }
}
