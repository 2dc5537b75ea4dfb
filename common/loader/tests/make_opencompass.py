"""Fills opencompass.json: what OpenCompass's own classes make, in CPython, of the small files that stand there.

usage: python make_opencompass.py ROOT, where ROOT holds the package `opencompass` 0.5.4, with an interpreter that has
`datasets` and `mmengine`. Classes, parameters and files are kept as they stand; only the rows are written again. What the
package imports beside its loaders is replaced by names without a use."""
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import sys
import tempfile
import types

os.environ['HF_HUB_OFFLINE'] = os.environ['HF_DATASETS_OFFLINE'] = '1'
import datasets  # noqa: E402
import mmengine.registry  # noqa: E402, F401

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(HERE, 'opencompass.json')
# Parts of the package that no loader runs, and the packages around it.
UNUSED = ('opencompass.models', 'opencompass.openicl', 'opencompass.runners', 'opencompass.tasks', 'opencompass.summarizers',
          'evaluate', 'nltk', 'scipy', 'sklearn', 'torch', 'transformers')


class Named(type):
    def __getattr__(cls, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return Unused


class Unused(metaclass=Named):
    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return Unused()


class UnusedModule(types.ModuleType):
    def __getattr__(self, name):
        if name == '__version__':
            return '9.9'
        if name.startswith('__'):
            raise AttributeError(name)
        return Unused


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, only=()):
        self.only = only

    def find_spec(self, name, path, target=None):
        if self.only and not name.startswith(self.only):
            return None
        if name.startswith('opencompass') and not name.startswith(UNUSED):
            return None
        parent = name.rpartition('.')[0]
        if parent and not isinstance(sys.modules.get(parent), UnusedModule):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return UnusedModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def package(root):
    sys.meta_path.insert(0, Finder(UNUSED))
    sys.meta_path.append(Finder())
    for name in ('opencompass', 'opencompass.datasets', 'opencompass.utils'):
        module = UnusedModule(name)
        module.__path__ = [os.path.join(root, *name.split('.'))]
        sys.modules[name] = module
    quiet = UnusedModule('opencompass.utils.logging')
    quiet.get_logger = lambda *_, **__: logging.getLogger('loaders')
    sys.modules['opencompass.utils.logging'] = quiet
    utils = sys.modules['opencompass.utils']
    utils.get_logger = quiet.get_logger
    utils.get_data_path = importlib.import_module('opencompass.utils.datasets').get_data_path
    for name, value in vars(importlib.import_module('opencompass.utils.text_postprocessors')).items():
        if not name.startswith('_'):
            setattr(utils, name, value)
    base = importlib.import_module('opencompass.datasets.base')
    sys.modules['opencompass.datasets'].BaseDataset = base.BaseDataset


def classes(root):
    found = {}
    top = os.path.join(root, 'opencompass', 'datasets')
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith('.py'):
                continue
            module = 'opencompass.datasets' + path[len(top):-3].replace('/', '.').removesuffix('.__init__')
            with open(path, errors='replace') as source:
                for line in source:
                    if line.startswith('class '):
                        found.setdefault(line[6:].split('(')[0].split(':')[0].strip(), []).append(module)
    return found


def hub(own, data):
    """`load_dataset` of a repository reads the files that stand for it: there is no network."""

    def load(path=None, name=None, data_files=None, split=None, **_):
        if path in ('json', 'csv', 'parquet', 'text'):
            return own(path, data_files=data_files, split=split)
        folder = path if os.path.isdir(path) else os.path.join(data, 'data/hub', 'datasets--' + path.replace('/', '--'), 'snapshots/x')
        folder = os.path.join(folder, name or '')
        files = {entry[:-6]: os.path.join(folder, entry) for entry in sorted(os.listdir(folder)) if entry.endswith('.jsonl')}
        return own('json', data_files=files, split=split)

    return load


def main(root):
    package(root)
    where = classes(root)
    with open(PATH, encoding='utf-8') as file:
        vectors = json.load(file)
    own = datasets.load_dataset
    for vector in vectors:
        with tempfile.TemporaryDirectory() as data:
            os.environ['COMPASS_DATA_CACHE'] = data
            os.chdir(data)
            for path, text in vector['files'].items():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='utf-8', newline='') as file:
                    file.write(text)
            datasets.load_dataset = hub(own, data)
            name = vector['class'].rsplit('.', 1)[-1]
            module = importlib.import_module(min(where[name], key=len))
            if hasattr(module, 'load_dataset'):
                module.load_dataset = datasets.load_dataset
            loader = getattr(module, name)
            made = loader.__new__(loader).load(**vector['parameters'])
            splits = {split: made if isinstance(made, datasets.Dataset) else made[split] for split in vector['splits']}
            vector['splits'] = {split: [json.dumps(row, ensure_ascii=False) for row in rows] for split, rows in splits.items()}
            os.chdir(HERE)
    with open(PATH, 'w', encoding='utf-8') as file:
        lines = [json.dumps(vector, ensure_ascii=False) for vector in vectors]
        file.write('[\n' + ',\n'.join(lines) + '\n]\n')


if __name__ == '__main__':
    main(os.path.abspath(sys.argv[1]))
