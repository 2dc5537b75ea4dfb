"""The standard library as loaders use it. Every row is one observation."""
import ast
import collections
import copy
import itertools
import json
import math
import os
import os.path as osp
import random
import re
import string
from collections import Counter, defaultdict
from functools import partial, reduce

from datasets import Dataset

from .base import BaseDataset


def seen(rows):
    return Dataset.from_list([{'name': name, 'seen': repr(value)} for name, value in rows])


class PatternsDataset(BaseDataset):

    @staticmethod
    def load():
        text = 'Q1: 12 apples, 3.5 pears\nQ2: none — 7,000 nuts (日本)'
        word = re.compile(r'(?P<first>\w)(\w*)')
        match = re.search(r'(\d+) (\w+)(x)?', text)
        rows = [
            ('findall', re.findall(r'\d+', text)),
            ('findall group', re.findall(r'(\d+) \w', text)),
            ('findall groups', re.findall(r'(Q)(\d)', text)),
            ('search', (match.group(), match.group(1, 2), match.groups(), match.span(), match.start(2))),
            ('match', (re.match('Q2', text), re.match(r'Q\d', text).end())),
            ('fullmatch', (re.fullmatch(r'a|ab', 'ab').group(), re.fullmatch('a', 'ab'))),
            ('sub', re.sub(r'(\d),(\d+)', r'\2.\g<1>', text)),
            ('sub function', re.sub(r'\d+', lambda m: str(int(m.group()) + 1), text)),
            ('sub empty', re.sub('x*', '-', 'abxd')),
            ('sub count', re.sub('a', 'b', 'aaaa', count=2)),
            ('subn', re.subn('a', 'b', 'aXa')),
            ('split', re.split(r'[,:]\s*', text)),
            ('split group', re.split(r'(\d)', 'a1b2c')),
            ('split most', re.split(' ', 'a b c d', maxsplit=2)),
            ('named', word.match('hello').groupdict()),
            ('multiline', re.findall(r'^Q\d$|^Q\d', text, re.M)),
            ('dotall', bool(re.search('apples.*nuts', text)) or bool(re.search('apples.*nuts', text, re.DOTALL))),
            ('ignorecase', re.findall('q\\d', text, flags=re.IGNORECASE)),
            ('escape', re.escape('a.b*c[d]-e f/g')),
            ('finditer', [(m.start(), m[0]) for m in re.finditer(r'[A-Z]', text)]),
            ('lookaround', re.findall(r'(?<=Q)\d(?=:)', text)),
            ('lazy', re.findall(r'<(.+?)>', '<a><b>')),
            ('unicode', re.findall(r'[\u4e00-\u9fff]+', text)),
            ('dollar', re.sub(r'\s+$', '', 'a \n\n')),
            ('boxed', re.findall(r'\\boxed\{(.*?)\}', r'so \boxed{42} and \boxed{x}')),
        ]
        return seen(rows)


class JsonTextDataset(BaseDataset):

    @staticmethod
    def load():
        value = json.loads('{"a": [1, 2.50, -0, 1e3, null, true], "b": {"ü": "\\u00e9\\ud83d\\ude00\\n"}, "a2": "x", "a2": "y"}')
        faults = []
        for text in ['{"a": }', '[1, 2', '{"a" 1}', '"abc', '[1] 2', '', '{\n"a": 01}']:
            try:
                faults.append(json.loads(text))
            except json.JSONDecodeError as error:
                faults.append(str(error))
        rows = [
            ('loads', value),
            ('dumps', json.dumps(value)),
            ('unicode', json.dumps(value, ensure_ascii=False)),
            ('indent', json.dumps({'k': [1, {'x': []}], 'e': {}}, indent=2)),
            ('sorted', json.dumps({'b': 1, 'a': (1, None, False)}, sort_keys=True)),
            ('separators', json.dumps([1, {'a': 2}], separators=(',', ':'))),
            ('keys', json.dumps({1: 'a', None: 'b', True: 'c', 1.5: 'd'})),
            ('control', json.dumps('\x00\x1f\x7f"\\/')),
            ('faults', faults),
        ]
        return seen(rows)


class RandomDataset(BaseDataset):

    @staticmethod
    def load(seed: int = 7):
        random.seed(seed)
        items = list(range(12))
        random.shuffle(items)
        own = random.Random(42)
        letters = list('abcdefgh')
        own.shuffle(letters)
        rows = [
            ('shuffle', items),
            ('sample', random.sample(range(100), 7)),
            ('choice', [random.choice('xyz') for _ in range(8)]),
            ('choices', random.choices([1, 2, 3], k=6)),
            ('randint', [random.randint(1, 6) for _ in range(8)]),
            ('random', [random.random(), random.uniform(1, 3)]),
            ('randrange', [random.randrange(10), random.randrange(5, 9)]),
            ('own', letters),
            ('own sample', own.sample(letters, 3)),
        ]
        return seen(rows)


class ToolsDataset(BaseDataset):

    @staticmethod
    def load():
        groups = defaultdict(list)
        for at, c in enumerate('abca'):
            groups[c].append(at)
        deep = {'k': [1, {'x': 2}]}
        copied = copy.deepcopy(deep)
        copied['k'][1]['x'] = 3
        double = partial(lambda x, y: x * y, 2)
        rows = [
            ('counter', Counter('abracadabra').most_common(2)),
            ('defaultdict', dict(groups)),
            ('ordered', list(collections.OrderedDict([('b', 1), ('a', 2)]).items())),
            ('deepcopy', (deep, copied)),
            ('product', list(itertools.product('ab', [1, 2]))),
            ('chain', list(itertools.chain([1], (2, 3)))),
            ('combinations', list(itertools.combinations('abc', 2))),
            ('permutations', list(itertools.permutations([1, 2, 3], 2))),
            ('islice', list(itertools.islice(range(10), 2, 8, 3))),
            ('accumulate', list(itertools.accumulate([1, 2, 3]))),
            ('zip longest', list(itertools.zip_longest('ab', 'c', fillvalue='-'))),
            ('partial', (double(5), reduce(lambda a, b: a + b, [1, 2, 3]))),
            ('literal', (ast.literal_eval("{'a': [1, (2, 'x')], 'b': None}"), eval('[1, 2.5, "é"]'))),
            ('paths', (os.path.join('a', 'b', '/c'), osp.join('a/', 'b'), osp.basename('x/y.json'), osp.splitext('x.tar.gz'))),
            ('dirname', (osp.dirname('a/b/c'), osp.dirname('c'), osp.split('a/b'))),
            ('math', (math.ceil(1.2), math.floor(-1.2), math.sqrt(2), math.log(8, 2), math.pi)),
            ('string', (string.ascii_uppercase[:5], string.digits, string.punctuation)),
            ('environ', os.environ.get('DATASET_SOURCE') == 'ModelScope'),
        ]
        return seen(rows)
