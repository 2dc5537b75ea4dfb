"""Random programs over what configurations use, with what CPython makes of them.

    python make.py COUNT [FIRST_SEED] > programs.json

Each program comes with the `repr` of every name that it leaves at module level, or with class, text and line of the exception that
ends it. The evaluator's tests run them without Python. Made with CPython 3.11.
"""
import json
import random
import resource
import signal
import sys
import traceback
import warnings

WORDS = ['a', 'b_c', 'Question: ', 'x,y,,z', ' pad ', 'émile', '中文', 'don\'t', '"q"', 'line\nbreak', 'ABC', '{n}', '100%', '']
COMMA = "','"
KEYS = ['abbr', 'type', 'path', 'k', 'n', 'round']


class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.lines = []
        self.names = {'int': [], 'str': [], 'float': [], 'ints': [], 'strs': [], 'dict': [], 'dicts': []}
        self.count = 0
        self.depth = 0

    def pick(self, *choices):
        return self.dice.choice(choices)

    def fresh(self, kind):
        self.count += 1
        name = f'{kind[0]}{self.count}'
        return name

    def known(self, kind):
        names = self.names[kind]
        return self.dice.choice(names) if names else None

    # Expressions by kind. Now and then one of another kind stands there, which is an error as a rule.
    def of(self, kind, depth=0):
        if self.dice.random() < 0.002:
            kind = self.dice.choice(list(self.names))
        if self.dice.random() < 0.001:
            return 'missing_name'
        name = self.known(kind)
        if name and self.dice.random() < (0.4 if depth < 3 else 0.8):
            return name
        return getattr(self, kind + '_')(depth + 1)

    def int_(self, d):
        dice = self.dice
        if d > 3 or dice.random() < 0.3:
            return str(dice.choice([0, 1, 2, 3, 7, 10, 255, -1, -5, 1000003]))
        return self.pick(
            lambda: f'({self.of("int", d)} {self.pick("+", "-", "*", "+", "-", "*", "//", "%")} {self.of("int", d)})',
            lambda: f'({self.of("int", d)} {self.pick("&", "|", "^")} {self.of("int", d)})',
            lambda: f'len({self.of(self.pick("str", "ints", "strs", "dict", "dicts"), d)})',
            lambda: f'{self.of("ints", d)}[{self.pick("0", "-1", "1", self.of("int", d))}]',
            lambda: f'sum({self.of("ints", d)})',
            lambda: f'sum(v for v in {self.of("ints", d)} if v {self.pick(">", "<", "!=", "==")} {self.of("int", d)})',
            lambda: f'max({self.of("ints", d)}, default={self.of("int", d)})',
            lambda: f'min({self.of("int", d)}, {self.of("int", d)})',
            lambda: f'int({self.of(self.pick("str", "float", "int"), d)})',
            lambda: f'({self.of("int", d)} if {self.truth(d)} else {self.of("int", d)})',
            lambda: f'abs({self.of("int", d)})',
            lambda: f'{self.of("str", d)}.count({self.of("str", d)})',
            lambda: f'{self.of("str", d)}.find({self.of("str", d)})',
            lambda: f'-{self.of("int", d)}' if dice.random() < 0.5 else f'~{self.of("int", d)}',
            lambda: f'{self.of("ints", d)}.index({self.of("int", d)})',
            lambda: f'divmod({self.of("int", d)}, {self.of("int", d)})[{self.pick("0", "1")}]',
            lambda: f'round({self.of("float", d)})',
            lambda: f'({self.of("int", d)} {self.pick("<<", ">>")} {self.pick("0", "1", "3")})',
            lambda: f'{self.pick("2", "3", "-2")} ** {self.pick("0", "2", "5")}',
            lambda: f'ord({self.of("str", d)})',
            lambda: f'{self.of("dict", d)}.get({self.key()}, {self.of("int", d)})',
        )()

    def float_(self, d):
        if d > 3 or self.dice.random() < 0.3:
            return self.pick('0.5', '1.0', '-2.25', '1e-5', '3.14159', '1e16', '0.1', '100.0')
        return self.pick(
            lambda: f'{self.of("float", d)} {self.pick("+", "-", "*", "/", "//", "%")} {self.of("float", d)}',
            lambda: f'{self.of("int", d)} / {self.of("int", d)}',
            lambda: f'float({self.of(self.pick("int", "float", "str"), d)})',
            lambda: f'round({self.of("float", d)}, {self.pick("0", "1", "2", "4")})',
            lambda: f'math.{self.pick("sqrt", "exp", "log", "floor", "ceil")}({self.of(self.pick("float", "int"), d)})',
            lambda: f'max({self.of("float", d)}, {self.of("int", d)})',
            lambda: f'abs({self.of("float", d)})',
        )()

    def spec(self):
        return self.pick('', ':>8', ':<6', ':^9', ':.2f', ':05d', ':,', ':.1%', ':+', '!r', '!s:>10', ':x', ':.3e', ':*^7', ':.3', ':g', ':_')

    def str_(self, d):
        dice = self.dice
        if d > 3 or dice.random() < 0.25:
            return repr(dice.choice(WORDS))
        any_kind = lambda: self.of(self.pick('int', 'str', 'float', 'ints', 'strs', 'dict'), d)
        return self.pick(
            lambda: f'({self.of("str", d)} + {self.of("str", d)})',
            lambda: f'{self.of("str", d)} * {self.pick("0", "2", "3")}',
            lambda: f'str({any_kind()})',
            lambda: f'repr({any_kind()})',
            lambda: f'{self.of("str", d)}.{self.pick("strip", "upper", "lower", "title", "capitalize", "lstrip", "rstrip", "swapcase")}()',
            lambda: f'{self.of("str", d)}.{self.pick("strip", "lstrip", "rstrip")}({self.of("str", d)})',
            lambda: f'{self.of("str", d)}.replace({self.of("str", d)}, {self.of("str", d)})',
            lambda: f'{self.of("str", d)}.join({self.of("strs", d)})',
            lambda: f'{self.of("str", d)}[{self.pick("0", "-1", "1")}]',
            lambda: f'{self.of("str", d)}[{self.pick("1:", ":2", "::-1", "::2", "-3:-1", ":")}]',
            lambda: f"'%s-%s' % ({any_kind()}, {any_kind()})",
            lambda: f"'{self.pick('%d', '%5d', '%-5d|', '%03d', '%x', '%.2f', '%s', '%r', '%e', '%g', '%5s|', '%%%s')}' % {self.of(self.pick('int', 'int', 'float'), d)}",
            lambda: f"'{{}}/{{}}'.format({any_kind()}, {any_kind()})",
            lambda: f"'{{0{self.spec()}}}'.format({self.of(self.pick('int', 'float', 'str'), d)})",
            lambda: f"'{{n}}|{{m!r}}'.format(n={any_kind()}, m={any_kind()})",
            lambda: self.fstring(d),
            lambda: self.fstring(d),
            lambda: f'{self.of("strs", d)}[{self.pick("0", "-1", "1")}]',
            lambda: f'({self.of("str", d)} {self.pick("or", "and")} {self.of("str", d)})',
            lambda: f'type({any_kind()}).__name__',
            lambda: f'{self.of("dict", d)}[{self.key()}]',
            lambda: f'chr({self.pick("65", "97 + 2", "20013")})',
            lambda: f'{self.of("str", d)}.{self.pick("zfill(5)", "rjust(6)", "ljust(6)", "center(7)", "removeprefix(chr(97))", "removesuffix(chr(32))")}',
            lambda: f'max({self.of("strs", d)})',
        )()

    def fstring(self, d):
        kind = self.pick('int', 'float', 'str', 'str', 'strs', 'ints', 'dict')
        name = self.known(kind)
        if name is None:
            return repr(self.dice.choice(WORDS))
        spec = self.spec() if kind in ('int', 'float') else self.pick('', '!r', '!s')
        if kind == 'str':
            spec = self.pick('', '!r', ':>8', ':<5', ':^7', ':.2', '!r:>12')
        return f"f'<{{{name}{spec}}}>{self.pick('', '{{}}', 'tail')}'"

    def key(self):
        return repr(self.dice.choice(KEYS))

    def ints_(self, d):
        if d > 3 or self.dice.random() < 0.25:
            return '[' + ', '.join(self.of('int', 4) for _ in range(self.dice.randrange(5))) + ']'
        return self.pick(
            lambda: f'list(range({self.pick("0", "3", "5", "2, 9", "1, 10, 3", "5, 0, -2")}))',
            lambda: f'[v {self.pick("+", "*", "-")} {self.of("int", d)} for v in {self.of("ints", d)}]',
            lambda: f'[v for v in {self.of("ints", d)} if v % {self.pick("2", "3")} == {self.pick("0", "1")}]',
            lambda: f'[a * b for a in {self.of("ints", d)} for b in range(2)]',
            lambda: f'({self.of("ints", d)} + {self.of("ints", d)})',
            lambda: f'{self.of("ints", d)} * {self.pick("0", "1", "2")}',
            lambda: f'{self.of("ints", d)}[{self.pick("1:", ":2", "::-1", "::2", ":-1", "1:3")}]',
            lambda: f'sorted({self.of("ints", d)}, reverse={self.pick("True", "False")})',
            lambda: f'sorted({self.of("ints", d)}, key=lambda v: (v % 3, -v))',
            lambda: f'sorted(set({self.of("ints", d)}))',
            lambda: f'list(reversed({self.of("ints", d)}))',
            lambda: f'[len(w) for w in {self.of("strs", d)}]',
            lambda: f'[i for i, _ in enumerate({self.of("strs", d)}, {self.pick("0", "1")})]',
            lambda: f'[*{self.of("ints", d)}, {self.of("int", d)}, *{self.of("ints", d)}]',
            lambda: f'list(map(lambda v: v + 1, {self.of("ints", d)}))',
            lambda: f'list(filter(None, {self.of("ints", d)}))',
            lambda: f'[a + b for a, b in zip({self.of("ints", d)}, {self.of("ints", d)})]',
            lambda: f'sum([{self.of("ints", d)}, {self.of("ints", d)}], [])',
        )()

    def strs_(self, d):
        if d > 3 or self.dice.random() < 0.25:
            return '[' + ', '.join(self.of('str', 4) for _ in range(self.dice.randrange(1, 5))) + ']'
        return self.pick(
            lambda: f'{self.of("str", d)}.split({self.pick("", COMMA, COMMA + ", 1", self.of("str", d))})',
            lambda: f'{self.of("str", d)}.splitlines()',
            lambda: f'[w.strip() for w in {self.of("strs", d)}]',
            lambda: f'[f"{{i}}:{{w}}" for i, w in enumerate({self.of("strs", d)})]',
            lambda: f'sorted({self.of("strs", d)})',
            lambda: f'sorted({self.of("strs", d)}, key=len, reverse=True)',
            lambda: f'list({self.of("dict", d)})',
            lambda: f'[str(v) for v in {self.of("dict", d)}.values()]',
            lambda: f'list({self.of("str", d)})',
            lambda: f'[k for k, v in {self.of("dict", d)}.items() if v]',
            lambda: f'[d["abbr"] for d in {self.of("dicts", d)}]',
            lambda: f'{self.of("strs", d)}[{self.pick("1:", ":2", "::-1")}]',
        )()

    def dict_(self, d):
        any_kind = lambda: self.of(self.pick('int', 'str', 'float', 'ints', 'strs'), d)
        if d > 3 or self.dice.random() < 0.4:
            pairs = [(self.dice.choice(KEYS), any_kind()) for _ in range(self.dice.randrange(1, 4))]
            pairs = list(dict(pairs).items())
            if self.dice.random() < 0.5:
                return 'dict(' + ', '.join(f'{k}={v}' for k, v in pairs) + ')'
            return '{' + ', '.join(f'{k!r}: {v}' for k, v in pairs) + '}'
        return self.pick(
            lambda: f'{{**{self.of("dict", d)}, {self.key()}: {any_kind()}}}',
            lambda: f'{{w: len(w) for w in {self.of("strs", d)}}}',
            lambda: f'dict(zip({self.of("strs", d)}, {self.of("ints", d)}))',
            lambda: f'dict({self.of("dict", d)}, {self.dice.choice(KEYS)}={any_kind()})',
            lambda: f'copy.deepcopy({self.of("dict", d)})',
            lambda: f'{self.of("dict", d)}.copy()',
            lambda: f'{{v: k for k, v in {self.of("dict", d)}.items()}}',
            lambda: f'{{k: v for k, v in {self.of("dict", d)}.items() if k != {self.key()}}}',
            lambda: f'({self.of("dict", d)} | {self.of("dict", d)})',
            lambda: f'dict(infer_cfg={self.of("dict", d)}, {self.dice.choice(KEYS)}={any_kind()})',
            lambda: f'{{{self.of("int", d)}: {any_kind()}, {self.of("str", d)}: {any_kind()}}}',
            lambda: f'{self.of("dicts", d)}[0]',
        )()

    def dicts_(self, d):
        if d > 3 or self.dice.random() < 0.4:
            return '[' + ', '.join(f'dict(abbr={self.of("str", 4)}, k={self.of("int", 4)})' for _ in range(self.dice.randrange(1, 4))) + ']'
        return self.pick(
            lambda: f'[dict(abbr=w, k={self.of("int", d)}) for w in {self.of("strs", d)}]',
            lambda: f'[{{**d, "n": {self.of("int", d)}}} for d in {self.of("dicts", d)}]',
            lambda: f'({self.of("dicts", d)} + {self.of("dicts", d)})',
            lambda: f'sorted({self.of("dicts", d)}, key=lambda d: d["abbr"])',
            lambda: f'[d for d in {self.of("dicts", d)} if d.get("k") {self.pick(">", "==", "is not")} {self.pick("0", "1", "None")}]',
            lambda: f'copy.deepcopy({self.of("dicts", d)})',
            lambda: f'[{self.of("dict", d)}] * 2',
        )()

    def truth(self, d=0):
        return self.pick(
            lambda: f'{self.of("int", d)} {self.pick("<", ">", "==", "!=", "<=", ">=")} {self.of("int", d)}',
            lambda: f'{self.of("int", d)} < {self.of("int", d)} <= {self.of("int", d)}',
            lambda: f'{self.of("str", d)} {self.pick("in", "not in")} {self.of(self.pick("str", "strs", "dict"), d)}',
            lambda: f'not {self.of(self.pick("ints", "strs", "dict", "str"), d)}',
            lambda: f'isinstance({self.of(self.pick("int", "str", "dict", "ints"), d)}, {self.pick("int", "str", "(list, tuple)", "dict", "float")})',
            lambda: f'{self.of("str", d)}.{self.pick("startswith", "endswith")}({self.of("str", d)})',
            lambda: f'any(v > 1 for v in {self.of("ints", d)})',
            lambda: f'all({self.of("strs", d)})',
            lambda: f'{self.of("str", d)}.{self.pick("isdigit", "isalpha", "isupper", "islower", "isspace", "isalnum")}()',
            lambda: f'{self.of("ints", d)} {self.pick("==", "<", ">=")} {self.of("ints", d)}',
            lambda: f'{self.of("dict", d)} == {self.of("dict", d)}',
            lambda: f'{self.of("int", d)} is None',
            lambda: f'({self.pick("True", "False", self.of("int", d))} {self.pick("and", "or")} {self.of("int", d)})',
        )()

    # Statements.
    def emit(self, line):
        self.lines.append('    ' * self.depth + line)

    def keep(self, kind, name):
        # Names of inner blocks may be unbound outside of them: an error that both should give, but rarely.
        if self.depth == 0 or self.dice.random() < 0.1:
            self.names[kind].append(name)

    def assign(self):
        kind = self.dice.choice(list(self.names))
        value = self.of(kind)
        name = self.fresh(kind)
        self.emit(f'{name} = {value}')
        self.keep(kind, name)

    def block(self, size, statements=None):
        self.depth += 1
        before = len(self.lines)
        saved = {kind: list(names) for kind, names in self.names.items()}
        for _ in range(size):
            self.statement(inner=True)
        if len(self.lines) == before:
            self.emit('pass')
        if self.dice.random() < 0.9:
            self.names = saved
        self.depth -= 1

    def statement(self, inner=False):
        choices = [self.assign] * 6 + [
            self.augmented, self.append, self.change_dict, self.change_list, self.unpack, self.delete, self.alias, self.walrus, self.subscript_assign]
        if self.depth < 2:
            choices += [self.loop, self.branch, self.attempt, self.counting]
        if self.depth == 0:
            choices += [self.function, self.function, self.gather, self.closure]
        if self.dice.random() < 0.006:
            choices = [self.fail]
        self.dice.choice(choices)()

    def augmented(self):
        kind = self.pick('int', 'str', 'ints', 'float')
        name = self.known(kind)
        if name:
            op = {'int': self.pick('+=', '-=', '*='), 'str': '+=', 'ints': '+=', 'float': self.pick('+=', '*=')}[kind]
            self.emit(f'{name} {op} {self.of(kind)}')

    def append(self):
        kind = self.pick(('ints', 'int'), ('strs', 'str'), ('dicts', 'dict'))
        name = self.known(kind[0])
        if name:
            how = self.pick(f'append({self.of(kind[1])})', f'extend({self.of(kind[0])})', f'insert(0, {self.of(kind[1])})')
            self.emit(f'{name}.{how}')

    def change_list(self):
        name = self.known(self.pick('ints', 'strs'))
        if name:
            self.emit(f'{name}.{self.pick("sort()", "reverse()", "pop()", "pop(0)", "clear()", "sort(reverse=True)")}')

    def change_dict(self):
        name = self.known('dict')
        if name:
            value = self.of(self.pick('int', 'str', 'ints', 'strs'))
            self.emit(self.pick(
                f'{name}[{self.key()}] = {value}',
                f'{name}.update({self.dice.choice(KEYS)}={value})',
                f'{name}.update({self.of("dict")})',
                f'{name}.setdefault({self.key()}, {value})',
                f'{name}.pop({self.key()}, None)',
                f'{name}.pop({self.key()})',
            ))

    def subscript_assign(self):
        name = self.known('dicts')
        if name:
            self.emit(self.pick(
                f'{name}[0][{self.key()}] = {self.of(self.pick("int", "str"))}',
                f'for d in {name}:\n' + '    ' * (self.depth + 1) + f'd["k"] = {self.of("int")}',
                f'{name}[-1]["abbr"] += "_x"',
            ))
        name = self.known('ints')
        if name:
            self.emit(self.pick(f'{name}[0] = {self.of("int")}', f'{name}[1:] = {self.of("ints")}', f'{name}[:0] = [{self.of("int")}]'))

    def unpack(self):
        a, b = self.fresh('int'), self.fresh('int')
        shape = self.pick(
            f'{a}, {b} = {self.of("int")}, {self.of("int")}',
            f'{a}, *{b} = {self.of("ints")}',
            f'*{b}, {a} = {self.of("ints")}',
            f'({a}, {b}) = {self.of("ints")}',
            f'[{a}, {b}] = {self.of("ints")}[:2]',
        )
        self.emit(shape)

    def delete(self):
        kind = self.pick('int', 'str', 'ints')
        name = self.known(kind)
        if name and self.depth == 0:
            self.emit(f'del {name}')
            if self.dice.random() < 0.95:
                self.names[kind].remove(name)

    def alias(self):
        kind = self.pick('ints', 'dict', 'dicts')
        name = self.known(kind)
        if name:
            other = self.fresh(kind)
            self.emit(f'{other} = {name}')
            self.keep(kind, other)

    def walrus(self):
        name = self.fresh('int')
        self.emit(f'if ({name} := {self.of("int")}) > {self.of("int")}:')
        self.block(1)
        self.keep('int', name)

    def loop(self):
        shape = self.pick(
            ('int', lambda v: f'for {v} in {self.of("ints")}:'),
            ('str', lambda v: f'for {v} in {self.of("strs")}:'),
            ('dict', lambda v: f'for {v} in {self.of("dicts")}:'),
            ('int', lambda v: f'for {v}, _ in enumerate(list({self.of("strs")})):'),
            ('str', lambda v: f'for {v}, _v in {self.of("dict")}.items():'),
            ('str', lambda v: f'for {v} in {self.of("str")}:'),
        )
        name = self.fresh(shape[0])
        self.emit(shape[1](name))
        saved = list(self.names[shape[0]])
        self.names[shape[0]].append(name)
        self.block(self.dice.randrange(1, 3))
        self.depth += 1
        if self.dice.random() < 0.2:
            self.emit(f'if {self.truth()}:')
            self.emit('    ' + self.pick('break', 'continue'))
        self.depth -= 1
        if self.dice.random() < 0.1:
            self.emit('else:')
            self.block(1)
        self.names[shape[0]] = saved

    def counting(self):
        name = self.fresh('int')
        self.emit(f'{name} = 0')
        self.emit(f'while {name} < {self.pick("2", "4", "7")}:')
        self.depth += 1
        self.emit(f'{name} += {self.pick("1", "2")}')
        self.depth -= 1
        self.block(1)
        self.keep('int', name)

    def branch(self):
        self.emit(f'if {self.truth()}:')
        self.block(self.dice.randrange(1, 3))
        if self.dice.random() < 0.4:
            self.emit(f'elif {self.truth()}:')
            self.block(1)
        if self.dice.random() < 0.5:
            self.emit('else:')
            self.block(1)

    def attempt(self):
        name = self.fresh('str')
        self.emit('try:')
        self.depth += 1
        self.emit(self.pick(
            f'{name} = str({self.of("int")} // 0)', f'{name} = {self.of("dict")}["nope"]', f'{name} = {self.of("ints")}[99]',
            f'{name} = int("x" + {self.of("str")})', f'{name} = {self.of("str")}', f'{name} = {self.of("int")} + {self.of("str")}',
            f'raise ValueError({self.of("str")})', f'{name} = {self.of("str")}.nope', f'assert {self.truth()}, {self.of("str")}',
        ))
        self.depth -= 1
        what = self.pick('Exception', '(KeyError, IndexError)', 'ValueError', 'ZeroDivisionError', 'LookupError', 'ArithmeticError')
        self.emit(f'except {what} as error:')
        self.depth += 1
        self.emit(f'{name} = type(error).__name__ + ": " + str(error)')
        self.depth -= 1
        if self.dice.random() < 0.3:
            self.emit('except TypeError:')
            self.depth += 1
            self.emit(f'{name} = "type"')
            self.depth -= 1
        if self.dice.random() < 0.2:
            self.emit('else:')
            self.block(1)
        if self.dice.random() < 0.2:
            self.emit('finally:')
            self.block(1)

    def function(self):
        self.count += 1
        name = f'make{self.count}'
        a, b = f'p{self.count}', f'q{self.count}'
        kind = self.pick('int', 'str', 'dict', 'ints')
        head = self.pick(f'{a}, {b}={self.of("int", 4)}', f'{a}, *{b}', f'{a}, **{b}', f'{a}, *, {b}={self.of("int", 4)}', f'{a}')
        self.emit(f'def {name}({head}):')
        saved = {kind: list(names) for kind, names in self.names.items()}
        self.names['int'].append(a)
        self.block(1)
        self.depth += 1
        if self.dice.random() < 0.3:
            self.emit(f'if {self.truth()}:')
            self.emit(f'    return {self.of(kind)}')
        self.names['int'].append(a)
        self.emit(f'return {self.of(kind)}')
        self.depth -= 1
        self.names = saved
        value = self.fresh(kind)
        call = self.pick(
            f'{name}({self.of("int")})', f'{name}({self.of("int")}, {self.of("int")})', f'{name}({a}={self.of("int")})',
            f'{name}({self.of("int")}, {b}={self.of("int")})', f'{name}(*{self.of("ints")})', f'{name}({self.of("int")}, z={self.of("int")})')
        self.emit(f'{value} = {call}')
        self.keep(kind, value)

    def closure(self):
        self.count += 1
        name = self.fresh('ints')
        self.emit(f'def outer{self.count}(n):')
        self.emit('    total = 0')
        self.emit('    def inner(v):')
        self.emit('        nonlocal total')
        self.emit(f'        total += v {self.pick("+", "*")} n')
        self.emit('        return total')
        self.emit(f'    return [inner(v) for v in {self.of("ints", 4)}]')
        self.emit(f'{name} = outer{self.count}({self.of("int")})')
        self.keep('ints', name)

    def gather(self):
        suffix = self.pick('_datasets', '_groups')
        self.count += 1
        self.emit(f'first{self.count}{suffix} = {self.of("dicts")}')
        self.emit(f'second{self.count}{suffix} = {self.of("dicts")}')
        name = self.fresh('dicts')
        where = self.pick('locals()', 'globals()')
        self.emit(f'{name} = sum((v for k, v in {where}.items() if k.endswith({suffix!r})), [])')
        self.keep('dicts', name)

    def fail(self):
        self.emit(self.pick(
            f'raise {self.pick("ValueError", "KeyError", "RuntimeError", "NotImplementedError")}({self.of("str")})',
            f'assert {self.truth()}, {self.of("str")}',
            f'raise ValueError',
            f'nope = {self.of("int")} // 0',
        ))

    def program(self):
        self.emit('import copy')
        self.emit('import math')
        for kind in self.names:
            name = self.fresh(kind)
            self.emit(f'{name} = {getattr(self, kind + "_")(4)}')
            self.names[kind].append(name)
        for _ in range(self.dice.randrange(4, 14)):
            self.statement()
        return '\n'.join(self.lines) + '\n'


def is_plain(value, seen=()):
    """Whether a value is one that the evaluator hands out: nothing that contains itself, no set, no object."""
    if id(value) in seen:
        return False
    if isinstance(value, (list, tuple)):
        return all(is_plain(item, (*seen, id(value))) for item in value)
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item, (*seen, id(value))) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


def too_big(value):
    """Integers beyond 128 bits, which the evaluator refuses."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) >= 2 ** 126
    if isinstance(value, (list, tuple)):
        return any(map(too_big, value))
    if isinstance(value, dict):
        return any(map(too_big, value.values()))
    return isinstance(value, str) and len(value) > 20000


def run(source):
    names = {'__name__': 'builtins'}
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        exec(compile(source, 'eval.py', 'exec'), names)
    except (RecursionError, MemoryError, TimeoutError):
        return None
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == 'eval.py']
        line = frames[-1].lineno if frames else error.lineno
        # Texts of 3.11 that name an object's address, or a class of the interpreter.
        return {'source': source, 'class': type(error).__name__, 'text': str(error), 'line': line}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    values = {name: value for name, value in names.items() if not name.startswith('__')}
    plain = {name: value for name, value in values.items() if is_plain(value)}
    if any(map(too_big, plain.values())):
        return None
    return {'source': source, 'names': {name: repr(value) for name, value in plain.items()}}


def stop(*_):
    raise TimeoutError


def main():
    warnings.simplefilter('ignore')
    signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    count = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    programs, errors = [], 0
    while len(programs) < count:
        made = run(Maker(seed).program())
        seed += 1
        if made is None or len(json.dumps(made)) > 6000:
            continue
        # Most programs of this kind go wrong somewhere; half of them shall not.
        errors += 'class' in made
        if 'class' not in made or errors <= count // 2:
            programs.append(made)
    print(json.dumps(programs, ensure_ascii=False, indent=0))


if __name__ == '__main__':
    main()
