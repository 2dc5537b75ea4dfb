"""Compares what the example `corpus` wrote with what mmengine makes of the same files.

    cargo run -p compass-python --example corpus -- ROOT --json ours.jsonl
    python compare_with_mmengine.py ROOT ours.jsonl

ROOT holds the package `opencompass`. mmengine imports no class while it reads a configuration: classes are dotted names in both.
"""
import collections
import contextlib
import json
import logging
import os
import sys
import warnings


def plain(value):
    """Like `Config.to_dict`, with classes and functions as their dotted names."""
    name = type(value).__name__
    if name in ('LazyObject', 'LazyAttr'):
        return dotted(value)
    if isinstance(value, dict):
        return {str(key) if not isinstance(key, bool) else str(key).lower(): plain(item) for key, item in dict.items(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, type):
        return f'{value.__module__}.{value.__qualname__}'
    if isinstance(value, float) and value != value:
        return 'NaN'
    return value


def dotted(value):
    own = object.__getattribute__
    if type(value).__name__ == 'LazyAttr':
        return f"{dotted(own(value, 'source'))}.{own(value, 'name')}"
    imported = own(value, '_imported')
    return f'{value.module}.{imported}' if imported is not None else value.module


def prepared():
    from mmengine.config import Config, config, utils
    # mmengine takes modules that are frozen, or beside a virtual environment, for modules of others and would not run them.
    own = utils._is_builtin_module
    utils._is_builtin_module = config._is_builtin_module = lambda name: name.split('.')[0] in sys.stdlib_module_names or own(name)
    return Config


def read(config, path):
    values = dict.items(config.fromfile(path, format_python_code=False)._to_lazy_dict())
    kept = (dict, list, tuple, str, int, float, type(None))
    return {key: plain(value) for key, value in values if isinstance(value, kept) and not key.startswith('__')}


def first_difference(ours, theirs, path=''):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*theirs, *ours]:
            if key not in ours or key not in theirs:
                return f'{path}.{key}: only {"there" if key in theirs else "here"}'
            found = first_difference(ours[key], theirs[key], f'{path}.{key}')
            if found:
                return found
        return None if list(ours) == list(theirs) else f'{path}: another order'
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f'{path}: {len(ours)} and {len(theirs)} items'
        return next(filter(None, (first_difference(a, b, f'{path}[{at}]') for at, (a, b) in enumerate(zip(ours, theirs)))), None)
    same = ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool) and isinstance(ours, float) == isinstance(theirs, float)
    return None if same else f'{path}: {ours!r:.80} and {theirs!r:.80}'


def files(root):
    """Every configuration below `root`, as the example goes through them."""
    for folder, _, names in os.walk(os.path.join(root, 'opencompass', 'configs')):
        for name in names:
            if name.endswith('.py') and name != '__init__.py':
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, '/')


def compared(config, root, file, ours):
    """What to count the file as, and what to say of it. What neither can read has nothing to be compared with."""
    try:
        theirs = read(config, os.path.join(root, file))
    except Exception as error:
        what = f'mmengine: {type(error).__name__}: {str(error)[:120]}'
        return ('refused by both', None) if ours is None else ('mmengine fails', what)
    if ours is None:
        return 'refused here', 'mmengine reads it'
    found = first_difference(ours, theirs)
    return ('differ', found) if found else ('equal', None)


def main():
    root, written = sys.argv[1:3]
    logging.disable(logging.CRITICAL)
    warnings.simplefilter('ignore')
    sys.path.insert(0, root)
    os.environ['PYTHONDONTWRITEBYTECODE'] = '1'
    config = prepared()
    with open(written, encoding='utf-8') as lines:
        ours = {entry['file']: entry['names'] for entry in map(json.loads, lines)}
    counts = collections.defaultdict(collections.Counter)
    for file in sorted(files(root)):
        # Some files print what they define.
        with contextlib.redirect_stdout(None):
            count, what = compared(config, root, file, ours.get(file))
        counts[file.split('/')[2]][count] += 1
        if what:
            print(f'{file}: {what}')
    for folder, count in sorted(counts.items()):
        print(f'{folder}: {sum(count.values())} files', dict(count))


if __name__ == '__main__':
    main()
