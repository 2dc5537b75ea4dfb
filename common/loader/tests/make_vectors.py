"""Writes vectors.json: what CPython and the `datasets` library make of the loaders in tree/.

usage: python make_vectors.py, with an interpreter that has `datasets`."""
import importlib
import json
import logging
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.join(HERE, 'tree')
CALLS = [
    ('ClassesDataset', {'n': 5}), ('InheritedDataset', {'path': 'x'}), ('TextDataset', {}), ('NumbersDataset', {}),
    ('ContainersDataset', {}), ('SplitsDataset', {'names': ['train', 'test', 'third']}), ('PatternsDataset', {}),
    ('JsonTextDataset', {}), ('RandomDataset', {}), ('RandomDataset', {'seed': 123456789012}), ('ToolsDataset', {}),
    ('LinesDataset', {'path': 'opencompass/lines'}), ('JsonDataset', {'path': './data', 'name': 'made'}),
    ('CsvDataset', {'path': './data/tables'}), ('TableDataset', {'path': './data/tables'}),
]


class Registry:
    def register_module(self, *_, **__):
        return lambda made: made


def main():
    sys.path.insert(0, TREE)
    os.chdir(TREE)
    registry = types.ModuleType('opencompass.registry')
    registry.LOAD_DATASET = Registry()
    sys.modules['opencompass.registry'] = registry
    utils = importlib.import_module('opencompass.utils')
    utils.get_logger = lambda: logging.getLogger('loaders')
    module = importlib.import_module('opencompass.datasets')
    vectors = []
    for name, parameters in CALLS:
        made = getattr(module, name).load(**parameters)
        splits = made if isinstance(made, dict) else {'test': made}
        rows = {split: [json.dumps(row, ensure_ascii=False) for row in data] for split, data in splits.items()}
        vectors.append({'class': name, 'parameters': parameters, 'splits': rows})
    with open(os.path.join(HERE, 'vectors.json'), 'w', encoding='utf-8') as out:
        json.dump(vectors, out, ensure_ascii=False, indent=1)
        out.write('\n')


if __name__ == '__main__':
    main()
