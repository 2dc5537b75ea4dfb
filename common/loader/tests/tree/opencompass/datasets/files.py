"""Files as loaders read them."""
import csv
import json
import os
import os.path as osp
from os import environ
from pathlib import Path

from datasets import Dataset, DatasetDict, concatenate_datasets, load_dataset

from opencompass.utils import get_data_path, get_logger

from .base import BaseDataset

logger = get_logger()


class LinesDataset(BaseDataset):

    @staticmethod
    def load(path: str, split: str = None):
        path = get_data_path(path)
        if environ.get('DATASET_SOURCE') == 'ModelScope':
            from modelscope import MsDataset
            return MsDataset.load(path)
        logger.info(f'reading {path}')
        rows = []
        with open(path, 'r', encoding='utf-8') as f:
            for at, line in enumerate(f):
                if not line.strip():
                    continue
                row = json.loads(line)
                row['at'] = at
                rows.append(row)
        dataset = Dataset.from_list(rows)
        few = dataset.filter(lambda x: x['score'] is not None and x['score'] > 1)
        named = dataset.map(lambda x, i: {'label': 'ABCD'[i % 4], 'question': x['question'].strip()}, with_indices=True)
        return DatasetDict({
            'train': few.rename_column('question', 'q').remove_columns(['tags']),
            'test': named,
            'all': concatenate_datasets([dataset, dataset.select(range(2))]),
            'plus': dataset.add_column('extra', [i / 2 for i in range(len(dataset))]).select_columns(['extra', 'at']),
        })


class JsonDataset(BaseDataset):

    @staticmethod
    def load(path: str, name: str):
        with open(osp.join(get_data_path(path), f'{name}.json')) as f:
            data = json.load(f)
        rows = [{**item, 'key': key, 'choices': [c['text'] for c in item['options']]} for key, item in data.items()]
        return Dataset.from_list(rows).map(lambda x: {'n': len(x['choices'])}, remove_columns=['options'])


class CsvDataset(BaseDataset):

    @staticmethod
    def load(path: str):
        made = DatasetDict()
        for split in ['dev', 'test']:
            with open(os.path.join(path, f'{split}.csv'), encoding='utf-8', newline='') as f:
                reader = csv.reader(f)
                header = next(reader)
                made[split] = Dataset.from_list([dict(zip(header, row)) for row in reader])
        with open(os.path.join(path, 'dev.csv'), encoding='utf-8-sig', newline='') as f:
            made['dicts'] = Dataset.from_list(list(csv.DictReader(f)))
        names = sorted(os.listdir(path))
        made['names'] = Dataset.from_list([{'name': n, 'stem': Path(n).stem, 'is': os.path.exists(osp.join(path, n)),
                                               'below': str(Path('up') / n / Path('down/')), 'above': str('/top' / Path(n))} for n in names])
        return made


class TableDataset(BaseDataset):

    @staticmethod
    def load(path: str):
        lines = load_dataset('json', data_files=path + '/lines.jsonl', split='train')
        tables = load_dataset('csv', data_files={'test': path + '/typed.csv'})
        tables['lines'] = lines
        tables['part'] = load_dataset('json', data_files={'x': path + '/lines.jsonl'}, split='x[1:3]')
        return tables
