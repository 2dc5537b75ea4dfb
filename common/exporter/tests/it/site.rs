//! A folder with stand-ins for mmengine, datasets and OpenCompass, data, and a state folder; gone after the test.

use compass_exporter::{Exporter, Limits};
use compass_needs::{Need, skipped};
use compass_settings::{Interpreter, LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const MMENGINE: &str = "\
class ConfigDict(dict):
    def __getattr__(self, name):
        return self[name]


class LazyObject:
    module, name = 'opencompass.datasets', 'Plain'

    def __str__(self):
        return self.name


class Config:
    @staticmethod
    def fromfile(path, format_python_code=False):
        names = {'LAZY': LazyObject()}
        with open(path) as file:
            exec(compile(file.read(), path, 'exec'), names)
        config = Config()
        config._cfg_dict = ConfigDict((name, value) for name, value in names.items() if name[0].islower())
        return config
";
/// It asks for a variable by a name in bytes, as libraries do that take both.
const DATASETS: &str = "\
import os

try:
    os.environ[b'ASKED']
except TypeError:
    os.environb.get(b'ASKED')


class Dataset(list):
    @property
    def column_names(self):
        return list(self[0]) if self else []

    def remove_columns(self, names):
        return Dataset({key: value for key, value in row.items() if key not in names} for row in self)


class DatasetDict(dict):
    pass
";
const BASE: &str = "\
from opencompass.utils.logging import get_logger
logger = get_logger(__name__)


class BaseDataset:
    def __init__(self, reader_cfg={}, **kwargs):
        rows = self.load(**kwargs)
        self.dataset = type(rows)({**row, 'subdivision': 'x', 'idx': 0} for row in rows)
        self._init_reader(**reader_cfg)

    def _init_reader(self, **kwargs):
        raise AssertionError('the reader is for those who evaluate')
";
/// A logger of which the first caller says the level: as there, the package has to be imported first.
const LOGGING: &str = "\
LOGGERS = []


def get_logger(level='INFO'):
    if not LOGGERS:
        LOGGERS.append({'INFO': 20}[level])
    return LOGGERS[0]
";
pub(super) const PLAIN: &str = "\
import json
import os
from datasets import Dataset, DatasetDict
from .base import BaseDataset


def read(path):
    with open(os.path.join(os.environ.get('COMPASS_DATA_CACHE', ''), path)) as file:
        return Dataset(json.loads(line) for line in file)


class Plain(BaseDataset):
    @staticmethod
    def load(path):
        print('noise on standard output')
        return read(path)


class Splits(BaseDataset):
    def load(self, path, name='n'):
        rows = read(path)
        return DatasetDict(train=rows, validation=Dataset({'z': name, **row} for row in rows[:1]))


class Built(BaseDataset):
    def __init__(self, suffix, **kwargs):
        self.suffix = suffix
        super().__init__(**kwargs)

    def load(self, path):
        return Dataset({**row, 'q': row['q'] + self.suffix} for row in read(path))


class Environment(BaseDataset):
    @staticmethod
    def load():
        return Dataset([{'q': os.environ.get('WANTED', 'nothing'), 'order': list({'b', 'a', 'c'})}])


class Odd(BaseDataset):
    @staticmethod
    def load(value):
        return {'text': 'no rows', 'nan': Dataset([{'q': float('nan')}]), 'bytes': Dataset([{'q': b'x'}])}[value]


class Ended(BaseDataset):
    @staticmethod
    def load(how):
        exec(how)


class Intruder(BaseDataset):
    @staticmethod
    def load(path):
        with open(path, 'w') as file:
            file.write('x')
        return Dataset([{'q': 'written'}])


class Caller(BaseDataset):
    @staticmethod
    def load(port):
        import socket
        socket.create_connection(('127.0.0.1', port), 5).close()
        return Dataset([{'q': 'connected'}])
";
/// A library that is not there: for one class only the text of the import needs it.
const NEEDY: &str = "\
import not_there.deep as deep
from datasets import Dataset
from not_there import decorate, Model
from .base import BaseDataset


class Wrapped(Model):
    size: deep.Size = deep.DEFAULT


class Named(BaseDataset):
    @staticmethod
    @decorate(1)
    def load():
        return Dataset([{'q': 'read'}])


class Calling(BaseDataset):
    @staticmethod
    def load():
        return Dataset([{'q': deep.tokens('x')}])
";

/// The folder.
pub(super) struct Site {
    dir: tempfile::TempDir,
    pub(super) world: LoaderWorld,
    pub(super) limits: Limits,
}

impl Site {
    /// Makes a site; `None` without python3, which is reported.
    pub(super) fn new() -> Option<Self> {
        let Some(program) = python() else {
            skipped(Need::Python, "no python3 on the PATH");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let world = LoaderWorld {
            config: dir.path().join("eval.py"),
            data_dir: dir.path().join("data"),
            variables: vec![
                ("PATH".into(), std::env::var("PATH").unwrap()),
                ("HOME".into(), dir.path().join("home").display().to_string()),
                ("PYTHONPATH".into(), dir.path().join("site").display().to_string()),
            ],
            interpreter: Some(Interpreter { program, network: false }),
            ..LoaderWorld::default()
        };
        let site = Self { dir, world, limits: Limits { idle_timeout: Duration::from_secs(120), most_bytes: 1 << 30 } };
        for (name, text) in [
            ("site/mmengine/__init__.py", ""),
            ("site/mmengine/config.py", MMENGINE),
            ("site/datasets/__init__.py", DATASETS),
            ("site/opencompass/__init__.py", "__version__ = '9.8.7'\n"),
            ("site/opencompass/utils/__init__.py", "from .logging import *  # noqa\n"),
            ("site/opencompass/utils/logging.py", LOGGING),
            (
                "site/opencompass/datasets/__init__.py",
                "from .broken import *\nfrom .needy import *\nfrom .plain import Plain as Renamed\nfrom .plain import *\n",
            ),
            ("site/opencompass/datasets/base.py", BASE),
            ("site/opencompass/datasets/broken.py", "raise RuntimeError('imported without need')\n"),
            ("site/opencompass/datasets/needy.py", NEEDY),
            ("site/opencompass/datasets/plain.py", PLAIN),
            ("data/rows.jsonl", "{\"q\": \"one\", \"a\": 1}\n{\"q\": \"zwei ü\", \"a\": 2}\n"),
        ] {
            site.write(name, text);
        }
        Some(site)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// An interpreter that is a script of the shell.
    pub(super) fn shell(&mut self, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write("interpreter", &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(self.path("interpreter"), std::fs::Permissions::from_mode(0o755)).unwrap();
        self.world.interpreter.as_mut().unwrap().program = self.path("interpreter");
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.world.variables.retain(|(known, _)| known != name);
        self.world.variables.push((name.into(), value.into()));
    }

    pub(super) fn exporter(&self) -> Exporter {
        Exporter::new(&self.path("state"), self.limits.clone())
    }

    pub(super) fn load(&self, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let results = self.exporter().load(&self.world, calls);
        assert_eq!(results.len(), calls.len());
        // Nothing of a run is left, whatever it came to.
        assert_eq!(names(&self.path("state/exports/runs")), Vec::<String>::new());
        results
    }

    /// The rows of one split of one class.
    pub(super) fn rows(&self, class: &str, parameters: &str, split: &str) -> Result<(String, String), NoRows> {
        let mut results = self.load(&[call(class, parameters, &[split])]);
        let rows = results.remove(0)?;
        Ok((std::fs::read_to_string(rows.file(split).unwrap()).unwrap(), rows.said))
    }
}

/// The names in a folder, sorted; of one that is not there, none.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A call with parameters in JSON.
pub(super) fn call(class: &str, parameters: &str, splits: &[&str]) -> LoaderCall {
    LoaderCall {
        class: class.to_owned(),
        parameters: serde_json::from_str(parameters).unwrap(),
        splits: splits.iter().map(|split| (*split).to_owned()).collect(),
    }
}

/// The interpreter behind whatever `python3` is on the PATH.
fn python() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_file().then_some(path)
}
