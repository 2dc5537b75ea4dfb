"""Statements, classes and methods as loaders use them. Every row is one observation."""
from datasets import Dataset, DatasetDict

from opencompass.registry import LOAD_DATASET

from .base import BaseDataset

SHARED = {'a': 1, 'b': [2, 3]}


def observed(rows):
    return Dataset.from_list([{'name': name, 'seen': repr(value)} for name, value in rows])


class Helper:
    factor = 3

    def __init__(self, start):
        self.start = start

    @classmethod
    def of(cls, text):
        return cls(int(text))

    @staticmethod
    def twice(x):
        return 2 * x

    @property
    def scaled(self):
        return self.start * self.factor

    def steps(self, n):
        for i in range(n):
            if i == 2:
                continue
            yield self.start + i


class Deeper(Helper):
    factor = 5

    def __init__(self, start, extra=1):
        super().__init__(start + 1)
        self.extra = extra

    @property
    def scaled(self):
        return super().scaled + self.extra


@LOAD_DATASET.register_module()
class ClassesDataset(BaseDataset):

    @staticmethod
    def load(path: str = '', n: int = 4):
        deeper = Deeper.of('7')
        rows = [
            ('class method', (type(deeper).__name__, deeper.start, deeper.extra)),
            ('property', deeper.scaled),
            ('static', (Helper.twice(4), deeper.twice(5))),
            ('generator', list(deeper.steps(n))),
            ('isinstance', (isinstance(deeper, Helper), isinstance(3, (str, int)))),
            ('shared', [dict(SHARED, c=n)]),
        ]
        return observed(rows)


@LOAD_DATASET.register_module(name='inherited')
class InheritedDataset(ClassesDataset):
    """Its `load` is its parent's."""


class TextDataset(BaseDataset):

    @staticmethod
    def load():
        text = '  Ünïcode, “quoted”\tand 日本語 text\n'
        rows = [
            ('strip', text.strip()),
            ('split', text.split()),
            ('rsplit', 'a,b,c,d'.rsplit(',', 2)),
            ('partition', 'k=v=w'.partition('=')),
            ('slices', (text[2:9], text[::-1][:6], text[-5:])),
            ('find', (text.find('日'), text.rfind('t'), text.count('t'), 'abc'.index('c'))),
            ('format', '{:>6.2f}|{!r}|{x[0]}'.format(7, 'q', x=['z'])),
            ('fstring', f'{3.14159:.3f}|{"a":^5}|{12345:,}|{0.256:.1%}|{text.strip()!r}'),
            ('percent', '%s-%05.1f-%x-%%' % ('a', 2.25, 255)),
            ('translate', 'hello'.translate({ord('l'): 'L', ord('o'): None})),
            ('case', ('straße'.upper(), 'ÀB'.lower(), 'a b-c'.title(), 'hELLO'.capitalize(), 'aB'.swapcase())),
            ('tests', ('12'.isdigit(), '1a'.isalnum(), ' '.isspace(), 'A'.isupper(), ''.isalpha())),
            ('lines', 'a\nb\r\nc\x0bd'.splitlines()),
            ('join', '-'.join(str(i) for i in range(5))),
            ('chr', [chr(ord('A') + i) for i in range(3)]),
            ('replace', 'aaa'.replace('a', 'b', 2)),
            ('prefix', ('abc'.removeprefix('a'), 'abc'.removesuffix('bc'), 'abc'.startswith(('x', 'a')))),
            ('pad', ('7'.zfill(3), '-7'.zfill(4), 'ab'.center(7, '*'), 'ab'.ljust(4) + '|')),
            ('encode', ('é'.encode('utf-8'), b'\xc3\xa9'.decode('utf-8'))),
        ]
        return observed(rows)


class NumbersDataset(BaseDataset):

    @staticmethod
    def load():
        rows = [
            ('division', (7 // 2, -7 // 2, -7 % 3, 7 / 2, 2**40, 7.5 // 2)),
            ('round', (round(2.5), round(3.5), round(2.675, 2), round(-1.5))),
            ('floats', (0.1 + 0.2, 1e16, 1e-7, 100.0, float('inf'), 1 / 3)),
            ('int', (int('-42'), int(3.99), int('ff', 16), bool([]), float('1e3'))),
            ('minmax', (min(3, 1, 2), max(['a', 'bb'], key=len), sum([1, 2.5]), abs(-3))),
            ('compare', (1 < 2 < 3, 1 == 1.0, 'a' < 'b', [1, 2] < [1, 3], None is None)),
            ('bits', (5 & 3, 5 | 3, 5 ^ 3, 1 << 10, ~5)),
        ]
        return observed(rows)


class ContainersDataset(BaseDataset):

    @staticmethod
    def load():
        data = {'b': 1, 'a': 2}
        data.update(c=3)
        data.setdefault('d', []).append(4)
        popped = data.pop('b')
        items = [3, 1, 2]
        items.sort(reverse=True)
        first, *rest = items
        try:
            data['missing']
        except KeyError as error:
            said = str(error)
        else:
            said = 'nothing'
        finally:
            done = True
        nested = [(i, j) for i in range(3) if i for j in 'xy']
        rows = [
            ('dict', data),
            ('popped', popped),
            ('unpacked', (first, rest)),
            ('caught', (said, done)),
            ('nested', nested),
            ('sorted', sorted({'q': 2, 'p': 1}.items(), key=lambda pair: pair[1])),
            ('zip', list(zip('abc', [1, 2]))),
            ('enumerate', list(enumerate('ab', 1))),
            ('dict comprehension', {k: v for k, v in zip('ab', range(2))}),
            ('set', sorted({3, 1, 2} | {5})),
            ('any', (any([0, 1]), all([]), list(filter(None, [0, 'a'])), list(map(str, [1])))),
            ('slices', (items[1:], items[::-1], list(range(10))[2:8:3])),
            ('while', ContainersDataset.count(5)),
            ('walrus', [y for x in range(4) if (y := x * x) > 1]),
            ('conditional', 'yes' if items else 'no'),
        ]
        return observed(rows)

    @staticmethod
    def count(n):
        total = 0
        while True:
            n -= 1
            if n < 0:
                break
            total += n
        else:
            total = -1
        return total


class SplitsDataset(BaseDataset):

    @classmethod
    def load(cls, names):
        made = DatasetDict()
        for at, name in enumerate(names):
            made[name] = Dataset.from_list(cls.rows(at + 1))
        return made

    @classmethod
    def rows(cls, n):
        return [{'z': i, 'a': str(i), 'list': [i] * i, 'inner': {'k': i, f'only{i}': None}} for i in range(n)]
