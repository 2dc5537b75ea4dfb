"""Resolves a configuration of OpenCompass, or runs its loader classes, with the Python that OpenCompass is installed in.

Compass starts this with a request in a folder that is the only one it may write to; what comes of it stands there: a line of
JSON in `events.jsonl` for everything that happens, and files of rows, a line of JSON each with the keys in the order of the
columns.
"""
import importlib
import importlib.metadata
import json
import os
import sys
import traceback

OUT = os.path.dirname(os.path.abspath(__file__))
# As a script of the user's own folder: this one is no place for modules of OpenCompass.
sys.path[0] = os.getcwd()


def beside(name):
    spec = importlib.util.spec_from_file_location('compass_' + name, os.path.join(OUT, name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def end_with_parent():
    try:
        import ctypes
        import signal
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except Exception:
        pass


class Events:

    def __init__(self):
        # Names that are no UTF-8 come as lone surrogates, which no reader of JSON takes.
        self.file = open(os.path.join(OUT, 'events.jsonl'), 'w', encoding='utf-8', errors='replace')

    def tell(self, event, **fields):
        self.file.write(json.dumps({'event': event, **fields}, ensure_ascii=False) + '\n')
        self.file.flush()


class Seen:
    """Which files are read, and which variables of the environment."""

    def __init__(self):
        self.files, self.folders, self.variables = set(), set(), set()
        prefixes = {sys.prefix, sys.base_prefix, OUT, '/proc', '/dev', '/sys'}
        self.own = tuple(os.path.realpath(prefix) + os.sep for prefix in prefixes)
        sys.addaudithook(self.heard)
        variables = self.variables

        class Recorded(type(os.environ)):

            def __getitem__(self, name):
                # Libraries try names in bytes too, and expect a TypeError.
                if isinstance(name, (str, bytes)):
                    variables.add(os.fsdecode(name))
                return super().__getitem__(name)

        os.environ.__class__ = Recorded
        if hasattr(os, 'environb'):
            os.environb.__class__ = Recorded

    def heard(self, event, arguments):
        if event == 'open':
            path, mode, _ = arguments
            is_read = mode is None or not any(letter in mode for letter in 'wax+')
            if is_read and isinstance(path, (str, bytes)):
                self.files.add(os.path.abspath(os.fsdecode(path)))
        elif event in ('os.listdir', 'os.scandir') and isinstance(arguments[0], (str, bytes)):
            self.folders.add(os.path.abspath(os.fsdecode(arguments[0])))

    def is_data(self, path):
        return not (os.path.realpath(path) + os.sep).startswith(self.own)

    def take(self):
        """What was seen since the last time."""
        files = sorted(path for path in self.files if self.is_data(path) and os.path.isfile(path))
        folders = sorted(path for path in self.folders if self.is_data(path) and os.path.isdir(path))
        self.files.clear()
        self.folders.clear()
        return files, folders


def mirror(source, target):
    """A folder with links to the files of another one: libraries write locks beside what they read."""
    os.makedirs(target, exist_ok=True)
    links = 0
    for folder, _, files in os.walk(source):
        here = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(here, exist_ok=True)
        for name in files:
            if not name.endswith('.lock'):
                os.symlink(os.path.join(folder, name), os.path.join(here, name))
                links += 1
        if links > 200_000:
            return


def version(distribution):
    try:
        return importlib.metadata.version(distribution)
    except Exception:
        return None


def told(error):
    """The class of an exception, its last line, and where it was raised: in OpenCompass or a configuration, if there."""
    text = str(error).strip()
    last = text.splitlines()[-1] if text else ''
    place = None
    for frame in traceback.extract_tb(error.__traceback__):
        inner = os.path.dirname(frame.filename) == OUT or f'{os.sep}mmengine{os.sep}' in frame.filename
        if not inner and 'importlib' not in frame.filename:
            is_theirs = f'{os.sep}opencompass{os.sep}' in frame.filename
            place = f'{frame.filename}:{frame.lineno}' if is_theirs or place is None else place
    return {'class': type(error).__name__, 'line': last[:2000], 'place': place}


def encoded(value, depth=0):
    """A value of a configuration, with what JSON cannot tell apart marked."""
    if depth > 200:
        raise RecursionError('a configuration that contains itself')
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return {'int': str(value)}
    if isinstance(value, float):
        return {'float': repr(float(value))}
    if isinstance(value, dict):
        return {'dict': [[encoded(key, depth + 1), encoded(dict.__getitem__(value, key), depth + 1)]
                         for key in dict.keys(value)]}
    if isinstance(value, (list, tuple)):
        kind = 'tuple' if isinstance(value, tuple) else 'list'
        return {kind: [encoded(item, depth + 1) for item in value]}
    name = type(value).__name__
    if name in ('LazyObject', 'LazyAttr'):
        return {'symbol': f'{value.module}.{value}'}
    module, own = getattr(value, '__module__', None), getattr(value, '__qualname__', None)
    if module and own and module in sys.modules and '<' not in own:
        return {'symbol': f'{module}.{own}'}
    return {'other': name}


def resolve(request, events, seen, importer):
    """The configuration, as OpenCompass's `run.py` reads it."""
    from mmengine.config import Config
    seen.take()
    config = Config.fromfile(request['configuration'], format_python_code=False)
    names = config._to_lazy_dict() if hasattr(config, '_to_lazy_dict') else config._cfg_dict
    with open(os.path.join(OUT, 'configuration.json'), 'w', encoding='utf-8') as file:
        json.dump(encoded(dict(names)), file)
    files, folders = seen.take()
    events.tell('configuration', file='configuration.json', files=files, folders=folders)


class NotRows(Exception):
    pass


def plain(value):
    """A value of a row as JSON has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, 'isoformat'):
        return value.isoformat()
    if hasattr(value, 'tolist'):
        return plain(value.tolist())
    raise NotRows(f'a row holds a value that JSON has not: {type(value).__name__}')


def columns_of(rows):
    names = getattr(rows, 'column_names', None)
    if isinstance(names, list):
        return names
    first = next(iter(rows), None)
    return list(first) if isinstance(first, dict) else []


def write(rows, name):
    count = 0
    with open(os.path.join(OUT, name), 'w', encoding='utf-8', errors='replace') as file:
        for row in rows:
            if not isinstance(row, dict):
                raise NotRows(f'a row is not a dict: {type(row).__name__}')
            file.write(json.dumps(plain(row), ensure_ascii=False, allow_nan=False) + '\n')
            count += 1
    return count


def build(kind, parameters):
    """What the class loads: the rows before the columns and ranges that every class adds."""
    base = importlib.import_module('opencompass.datasets.base').BaseDataset if kind.__module__.split(
        '.')[0] == 'opencompass' else None
    if base is None or not issubclass(kind, base) or kind.__init__ is base.__init__:
        return kind.__new__(kind).load(**parameters), False
    kept = kind._init_reader
    kind._init_reader = lambda self, **_: None
    try:
        return kind(reader_cfg={}, **parameters).dataset, True
    finally:
        kind._init_reader = kept


def load(call, number, events, seen, importer, packages):
    kind = importer.get(importer.registered(call['class']))
    if not hasattr(kind, 'load'):
        raise NotRows(f'{kind!r} has no `load`')
    seen.take()
    packages.Strict.on = True
    try:
        parameters = call['parameters']
        try:
            from mmengine.config import ConfigDict
            parameters = dict(ConfigDict(parameters))
        except ImportError:
            pass
        data, is_built = build(kind, parameters)
        is_split = isinstance(data, dict) and not hasattr(data, 'column_names') or hasattr(data, 'keys') and hasattr(
            data, 'num_rows') and isinstance(data.num_rows, dict)
        if data is None or isinstance(data, (str, bytes)):
            raise NotRows(f'a {type(data).__name__}')
        splits, written = [], {}
        for split in call['splits']:
            if is_split and split not in data:
                raise KeyError(f'no split {split!r}: there are {", ".join(map(str, data))}')
            rows = data[split] if is_split else data
            columns = columns_of(rows)
            if is_built and hasattr(rows, 'remove_columns'):
                extra = [column for column in ('subdivision', 'idx') if column in columns]
                rows = rows.remove_columns(extra)
                columns = [column for column in columns if column not in extra]
            if id(rows) not in written:
                name = f'{number}-{len(splits)}.jsonl'
                written[id(rows)] = (name, write(rows, name), rows)
            name, count, _ = written[id(rows)]
            splits.append({'split': split, 'file': name, 'rows': count, 'columns': columns})
    finally:
        packages.Strict.on = False
    files, folders = seen.take()
    package = os.path.dirname(sys.modules['opencompass'].__file__) if 'opencompass' in sys.modules else None
    modules = {getattr(module, '__file__', None) for module in list(sys.modules.values())}
    modules = [path for path in modules if path and package and path.startswith(package + os.sep)]
    source = getattr(sys.modules.get(kind.__module__), '__file__', None)
    modules = sorted({*modules, *([source] if source else [])})
    events.tell('rows', call=number, splits=splits, files=files, folders=folders, modules=modules)


def main():
    end_with_parent()
    with open(os.path.join(OUT, 'request.json'), encoding='utf-8') as file:
        request = json.load(file)
    events = Events()
    events.tell('python', version='.'.join(map(str, sys.version_info[:3])))
    packages = beside('packages')
    for name in ('datasets', 'modules'):
        source = request['caches'].get(name)
        if source and os.path.isdir(source):
            mirror(source, os.path.join(OUT, 'hf-' + name))
    # Modules of the user's own, which a relative import of the configuration names.
    if request['folder'] and request['folder'] not in sys.path:
        sys.path.append(request['folder'])
    seen = Seen()
    # In front of what stands in for libraries: these ask themselves which of those there are.
    for name in ['mmengine', 'datasets', 'transformers', 'opencompass']:
        if name == 'opencompass':
            importer = packages.Importer(request['tree'])
        try:
            importlib.import_module(name)
        except Exception as error:
            is_needed = name == 'mmengine' or request['calls'] and name != 'transformers'
            if is_needed:
                events.tell('unusable', module=name, **told(error))
                return
    importer.begin()
    root = sys.modules.get('opencompass')
    events.tell('opencompass', version=getattr(root, '__version__', None) or version('opencompass'),
                mmengine=version('mmengine') or version('mmengine-lite'), datasets=version('datasets'),
                file=getattr(root, '__file__', None))
    if request['configuration']:
        try:
            resolve(request, events, seen, importer)
        except Exception as error:
            traceback.print_exc()
            events.tell('refused', call=0, **told(error))
    for number, call in enumerate(request['calls']):
        events.tell('loading', call=number)
        try:
            load(call, number, events, seen, importer, packages)
        except OSError as error:
            if error.errno == 28:
                raise
            events.tell('refused', call=number, **told(error))
        except (Exception, SystemExit) as error:
            events.tell('refused', call=number, **told(error))
    events.tell('end', variables=sorted(seen.variables))


main()
