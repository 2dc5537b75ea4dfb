"""5,000 pairs of answers of every kind, with math-verify's decision on each.

    python math_verify_pairs.py math_verify.txt.gz [PAIRS]      # in an environment with math-verify==0.9.0

A line has the decision (EQ or NE), the kind, the gold answer, the other one, with tabs between. The pairs are drawn from a
seed: the same on every machine.
"""
import gzip
import logging
import random
import sys

from math_verify import parse, verify

SEED = 20261129
LETTERS = 'xyzabnt'


class Draw(random.Random):
    """What answers are made of."""

    def digit(self, low=2, high=9):
        return self.randint(low, high)

    def letter(self):
        return self.choice(LETTERS)

    def number(self):
        form = self.randrange(4)
        if form == 0:
            return str(self.randint(-20, 20))
        if form == 1:
            return f'\\frac{{{self.randint(1, 9)}}}{{{self.randint(2, 9)}}}'
        if form == 2:
            return f'{self.randint(0, 9)}.{self.randint(1, 99)}'
        return str(self.randint(1, 9999))

    def members(self, count):
        return self.sample(range(-9, 15), count)

    def near(self, number):
        return number + self.choice([-2, -1, 1, 2, 10])


def commas(number):
    return f'{number:,}'


def integer(draw):
    number = draw.randint(-3000, 3000000)
    other = number if draw.random() < 0.6 else draw.near(number)
    forms = [str, commas, lambda n: commas(n).replace(',', '{,}'), lambda n: f'{n}.0', lambda n: f'\\text{{ }}{n}',
             lambda n: f'{n - 7}+7', lambda n: f'2\\cdot {n} - {n}' if n > 0 else str(n), lambda n: f'{n}.']
    return draw.choice(forms[:2])(number), draw.choice(forms)(other)


def factorial(draw):
    number = draw.randint(1, 8)
    value = 1
    for factor in range(2, number + 1):
        value *= factor
    return f'{number}!', str(value if draw.random() < 0.6 else draw.near(value))


def decimal(draw):
    over, under = draw.randint(1, 60), draw.choice([2, 4, 5, 8, 10, 20, 25, 50, 3, 6, 7, 9])
    text = f'{over / under:.{draw.choice([2, 3, 6, 7])}f}'.rstrip('0').rstrip('.')
    left = draw.choice([f'\\frac{{{over}}}{{{under}}}', f'{over}/{under}', f'\\dfrac{{{over}}}{{{under}}}'])
    return draw.choice([(left, text), (text, left)])


def fraction(draw):
    a, b, k = draw.randint(1, 12), draw.randint(2, 12), draw.randint(1, 5)
    gold = f'\\frac{{{a}}}{{{b}}}'
    same = [f'\\frac{{{a * k}}}{{{b * k}}}', f'{a * k}/{b * k}', f'\\tfrac{{{a}}}{{{b}}}', f'\\frac{{-{a}}}{{-{b}}}',
            f'{a}\\cdot\\frac{{1}}{{{b}}}', f'{a // b}\\frac{{{a % b}}}{{{b}}}' if a > b and a % b else gold]
    other = [f'\\frac{{{b}}}{{{a}}}', f'-\\frac{{{a}}}{{{b}}}', f'\\frac{{{a + 1}}}{{{b}}}']
    return gold, draw.choice(same if draw.random() < 0.6 else other)


def percent(draw):
    number = draw.randint(1, 99)
    forms = [f'{number}\\%', str(number), f'{number / 100}', f'\\frac{{{number}}}{{100}}', f'{number + 1}\\%', f'{number}.0\\%']
    return draw.choice(forms[:3]), draw.choice(forms)


def root(draw):
    a, b = draw.digit(), draw.choice([2, 3, 5, 6, 7, 10])
    gold = f'{a}\\sqrt{{{b}}}'
    same = [f'\\sqrt{{{a * a * b}}}', f'\\sqrt{{{b}}}\\cdot {a}', f'\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}', f'{a}\\cdot {b}^{{1/2}}']
    other = [f'{a}\\sqrt{{{b + 1}}}', f'\\sqrt{{{a * b}}}', f'-{a}\\sqrt{{{b}}}', f'{a * b ** 0.5:.3f}', f'{a}+\\sqrt{{{b}}}']
    return gold, draw.choice(same if draw.random() < 0.6 else other)


def cube_root(draw):
    a, b = draw.digit(), draw.choice([2, 3, 5, 6])
    same = [f'{a}\\sqrt[3]{{{b}}}', f'\\sqrt[3]{{{b}}}\\cdot {a}', f'{a}\\cdot {b}^{{\\frac{{1}}{{3}}}}']
    return f'\\sqrt[3]{{{a ** 3 * b}}}', draw.choice(same if draw.random() < 0.6 else [f'{a}\\sqrt[3]{{{b + 1}}}', f'{a}\\sqrt{{{b}}}'])


def conjugate(draw):
    a, b = draw.digit(2, 5), draw.choice([2, 3, 5, 7])
    sign = draw.choice([1, 1, -1])
    gold = f'\\frac{{1}}{{{a}+\\sqrt{{{b}}}}}'
    return gold, f'\\frac{{{sign * a}-{"" if sign > 0 else "-"}\\sqrt{{{b}}}}}{{{a * a - b}}}'


def power(draw):
    a, b = draw.digit(), draw.randint(0, 12)
    same = [str(a ** b), f'{a}^{{{b}}}', f'{a}^{{{b + 1}}}/{a}']
    return f'{a}^{{{b}}}', draw.choice(same if draw.random() < 0.6 else [str(a ** b + 1), f'{a}^{{{b + 1}}}', f'{b}^{{{a}}}'])


def scientific(draw):
    a, b = draw.randint(11, 99), draw.randint(1, 8)
    value = a * 10 ** b
    same = [str(value // 10), commas(value // 10), f'{a}\\cdot 10^{{{b - 1}}}']
    other = [str(value), f'{a / 10}\\times 10^{{{b + 1}}}']
    return f'{a / 10}\\times 10^{{{b}}}', draw.choice(same if draw.random() < 0.6 else other)


def polynomial(draw):
    x, a, b = draw.letter(), draw.randint(1, 9), draw.randint(1, 9)
    gold = f'({x}+{a})({x}-{b})'
    middle = a - b
    same = [f'{x}^2+{middle}{x}-{a * b}'.replace('+-', '-'), f'({x}-{b})({x}+{a})', f'{x}^2+{a}{x}-{b}{x}-{a * b}',
            f'-{a * b}+{x}^2+{middle}{x}'.replace('+-', '-')]
    other = [f'{x}^2+{middle + 1}{x}-{a * b}'.replace('+-', '-'), f'({x}-{a})({x}+{b})' if a != b else f'{x}^2', f'{x}^2-{a * b}' if a != b else x]
    return gold, draw.choice(same if draw.random() < 0.6 else other)


def binomial_power(draw):
    x, y = draw.sample(LETTERS, 2)
    a = draw.randint(2, 5)
    same = [f'{x}^2+{2 * a}{x}{y}+{a * a}{y}^2', f'({a}{y}+{x})^2', f'({x}+{a}{y})({x}+{a}{y})']
    other = [f'{x}^2+{a * a}{y}^2', f'{x}^2+{a}{x}{y}+{a * a}{y}^2', f'({x}-{a}{y})^2']
    return f'({x}+{a}{y})^2', draw.choice(same if draw.random() < 0.6 else other)


def rational(draw):
    x, a = draw.letter(), draw.randint(1, 9)
    pairs = [(f'\\frac{{{x}^2-{a * a}}}{{{x}-{a}}}', f'{x}+{a}'), (f'\\frac{{1}}{{{x}}}+\\frac{{1}}{{{a}}}', f'\\frac{{{x}+{a}}}{{{a}{x}}}'),
             (f'\\frac{{{x}}}{{{a + 1}}}', f'\\frac{{1}}{{{a + 1}}}{x}'), (f'\\frac{{{x}+1}}{{{x}}}', f'1+\\frac{{1}}{{{x}}}'),
             (f'\\frac{{{a}{x}+{a}}}{{{a + 1}{x}+{a + 1}}}', f'\\frac{{{a}}}{{{a + 1}}}'), (f'{x}^{{-{a}}}', f'\\frac{{1}}{{{x}^{{{a}}}}}')]
    gold, same = draw.choice(pairs)
    return gold, same if draw.random() < 0.6 else draw.choice([f'{same}+1', f'{x}-{a}', f'\\frac{{{x}}}{{{a + 2}}}'])


def trigonometry(draw):
    x, a = draw.choice(['x', 't', '\\theta']), draw.digit()
    pairs = [(f'\\sin^2 {x}+\\cos^2 {x}', '1'), (f'\\sin(2{x})', f'2\\sin {x}\\cos {x}'), (f'\\cos(2{x})', f'1-2\\sin^2 {x}'),
             (f'\\tan {x}', f'\\frac{{\\sin {x}}}{{\\cos {x}}}'), (f'{a}\\sin {x}', f'\\sin {x}\\cdot {a}'),
             (f'\\cos(2{x})', f'2\\cos^2 {x}-1'), (f'1+\\tan^2 {x}', f'\\frac{{1}}{{\\cos^2 {x}}}')]
    gold, same = draw.choice(pairs)
    return gold, same if draw.random() < 0.6 else draw.choice([f'\\cos {x}', f'\\sin {x}', f'{a}\\cos {x}', '2'])


def angle(draw):
    values = {'\\sin(\\pi/6)': '\\frac12', '\\cos(\\pi/4)': '\\frac{\\sqrt2}{2}', '\\tan(\\pi/4)': '1', '\\sin(\\pi/3)': '\\frac{\\sqrt{3}}{2}',
              '\\cos(\\pi)': '-1', '\\sin(\\frac{3\\pi}{2})': '-1', '\\cos(\\frac{2\\pi}{3})': '-\\frac{1}{2}', '\\tan(\\pi/3)': '\\sqrt{3}'}
    gold = draw.choice(sorted(values))
    return gold, values[gold] if draw.random() < 0.6 else draw.choice(sorted(values.values()))


def logarithm(draw):
    a, b = draw.digit(), draw.randint(1, 6)
    pairs = [(f'\\log_{{{a}}} {a ** b}', str(b)), (f'\\ln(e^{{{b}}})', str(b)), (f'\\ln {a * a}', f'2\\ln {a}'),
             (f'\\ln {a}+\\ln {b + 1}', f'\\ln {a * (b + 1)}'), (f'\\log_{{{a}}} {b + 1}', f'\\frac{{\\ln {b + 1}}}{{\\ln {a}}}')]
    gold, same = draw.choice(pairs)
    return gold, same if draw.random() < 0.6 else draw.choice([str(b + 1), f'\\ln {a + 1}', f'{a}'])


def exponential(draw):
    x, a = draw.letter(), draw.digit()
    pairs = [(f'e^{{{x}+{a}}}', f'e^{{{a}}}e^{{{x}}}'), (f'{a}^{{{x}+1}}', f'{a}\\cdot {a}^{{{x}}}'), (f'e^{{2{x}}}', f'(e^{{{x}}})^2'),
             (f'e^{{-{x}}}', f'\\frac{{1}}{{e^{{{x}}}}}'), (f'4^{{{x}}}', f'2^{{2{x}}}')]
    gold, same = draw.choice(pairs)
    return gold, same if draw.random() < 0.6 else draw.choice([f'e^{{{x}}}', f'{a}^{{{x}}}', f'e^{{{x}}}+{a}'])


def magnitude(draw):
    a = draw.digit()
    return draw.choice([(f'|-{a}|', str(a)), (f'|x-{a}|', f'|{a}-x|'), ('\\sqrt{x^2}', '|x|'), (f'|{a}x|', f'{a}|x|'), (f'|-{a}|', f'-{a}')])


def pi(draw):
    a, b = draw.randint(1, 9), draw.randint(2, 9)
    gold = f'\\frac{{{a}\\pi}}{{{b}}}'
    same = [f'\\frac{{{a}}}{{{b}}}\\pi', f'\\frac{{{2 * a}\\pi}}{{{2 * b}}}', f'{a}\\pi/{b}', f'\\pi\\cdot\\frac{{{a}}}{{{b}}}']
    return gold, draw.choice(same if draw.random() < 0.6 else [f'{a}\\pi', f'\\frac{{{a}}}{{{b}}}', f'{3.14159 * a / b:.2f}'])


def finite_set(draw):
    members = draw.members(draw.randint(2, 5))
    other = members[:]
    draw.shuffle(other)
    if draw.random() < 0.35:
        other[0] = draw.near(other[0]) + 30
    elif draw.random() < 0.1:
        other.pop()
    joined = ', '.join(map(str, other))
    left = draw.choice([f'\\{{{", ".join(map(str, members))}\\}}', ', '.join(map(str, members))])
    return left, draw.choice([f'\\{{{joined}\\}}', joined, joined.replace(', ', ',') if all(0 <= n < 10 for n in other) else joined])


def union(draw):
    one, two = draw.members(2), draw.members(2)
    both = sorted(set(one + two))
    if draw.random() < 0.35:
        both = both[:-1]
    text = ', '.join
    return f'\\{{{text(map(str, one))}\\}}\\cup\\{{{text(map(str, two))}\\}}', f'\\{{{text(map(str, both))}\\}}'


def ordered(draw):
    values = [draw.number() for _ in range(draw.randint(2, 4))]
    other = values[:]
    if draw.random() < 0.4:
        other[-1] = str(draw.randint(20, 60))
    return f'({",".join(values)})', draw.choice([f'({", ".join(other)})', f'\\left({",".join(other)}\\right)'])


def interval(draw):
    a = draw.randint(-9, 5)
    b = a + draw.randint(1, 9)
    low, high = draw.choice('(['), draw.choice(')]')
    ends = [f'{low}{a},{b}{high}', f'\\left{low}{a},{b}\\right{high}', f'{low}{a}, {b}{high}']
    other = [f'[{a},{b})', f'({a},{b}]', f'{low}{a},{b + 1}{high}']
    return ends[0], draw.choice(ends if draw.random() < 0.6 else other)


def rays(draw):
    a = draw.randint(-9, 5)
    b = a + draw.randint(1, 9)
    gold = f'(-\\infty,{a})\\cup({b},\\infty)'
    same = [gold, f'({b},\\infty)\\cup(-\\infty,{a})', f'(-\\infty,{a}) \\cup ({b}, +\\infty)']
    other = [f'(-\\infty,{a}]\\cup({b},\\infty)', f'(-\\infty,{a})', f'({a},{b})', f'(-\\infty,{b})\\cup({b},\\infty)']
    return gold, draw.choice(same if draw.random() < 0.6 else other)


def pieces(draw):
    a = draw.randint(-9, 5)
    b, c = a + 2, a + 5
    return f'[{a},{c}]', draw.choice([f'[{a},{b}]\\cup[{b},{c}]', f'[{a},{b})\\cup({b},{c}]', f'[{a},{b})\\cup[{b},{c}]'])


def without(draw):
    a = draw.randint(-9, 9)
    same = [f'(-\\infty,{a})\\cup({a},\\infty)']
    return f'\\mathbb{{R}}\\setminus\\{{{a}\\}}', draw.choice(same + [f'(-\\infty,{a + 1})\\cup({a + 1},\\infty)', f'(-\\infty,\\infty)'])


def inequality(draw):
    x, a = draw.letter(), draw.randint(-9, 9)
    sign, turned, other = draw.choice([('>', '<', '\\ge'), ('<', '>', '\\le'), ('\\ge', '\\le', '>'), ('\\leq', '\\geq', '<')])
    gold = f'{x}{sign} {a}'
    same = [f'{a}{turned} {x}', gold.replace(' ', ''), f'{x} {sign} {a}.0']
    return gold, draw.choice(same if draw.random() < 0.6 else [f'{x}{other} {a}', f'{x}{turned} {a}', f'{x}{sign} {a + 1}'])


def bounded(draw):
    a = draw.randint(-9, 5)
    b = a + draw.randint(1, 9)
    signs = draw.choice([('<', '<', '(', ')'), ('\\le', '<', '[', ')'), ('<', '\\le', '(', ']'), ('\\le', '\\le', '[', ']')])
    gold = f'{a}{signs[0]} x{signs[1]} {b}'
    same = [gold, f'{signs[2]}{a},{b}{signs[3]}']
    return gold, draw.choice(same if draw.random() < 0.6 else [f'{a}\\le x<{b + 1}', f'({a},{b + 2})', f'{a}<x\\le {b + 1}'])


def assignment(draw):
    x, value = draw.letter(), draw.randint(-30, 30)
    other = value if draw.random() < 0.6 else draw.near(value)
    return draw.choice([f'{x}={value}', str(value)]), draw.choice([f'{x}={other}', f'{x} = {other}', str(other), f'{other}.0'])


def line(draw):
    a, b = draw.digit(), draw.digit()
    same = [f'y={b}+{a}x', f'{a}x-y+{b}=0', f'y-{a}x={b}', f'y = {a}x + {b}']
    return f'y={a}x+{b}', draw.choice(same if draw.random() < 0.6 else [f'y={a}x+{b + 1}', f'y={a + 1}x+{b}', f'x={a}y+{b}'])


def circle(draw):
    a = draw.digit()
    same = [f'x^2+y^2-{a}=0', f'y^2+x^2={a}', f'{a}=x^2+y^2']
    return f'x^2+y^2={a}', draw.choice(same if draw.random() < 0.6 else [f'x^2+y^2={a + 1}', f'x^2-y^2={a}', f'x+y={a}'])


def solutions(draw):
    a, b = draw.members(2)
    other = b if draw.random() < 0.6 else b + 40
    return f'x={a},x={b}', draw.choice([f'x={other},x={a}', f'x={a}, x={other}', f'x={a}\\text{{ or }}x={other}'])


def plus_minus(draw):
    a, b = draw.digit(), draw.choice([2, 3, 5, 7])
    pairs = [(f'\\pm {a}', f'{a},-{a}'), (f'\\pm {a}', f'-{a}, {a}'), (f'{a}\\pm\\sqrt{{{b}}}', f'{a}+\\sqrt{{{b}}},{a}-\\sqrt{{{b}}}'),
             (f'\\pm\\sqrt{{{b}}}', f'\\{{-\\sqrt{{{b}}},\\sqrt{{{b}}}\\}}'), (f'\\pm {a}', str(a)), (f'{a}\\pm\\sqrt{{{b}}}', f'{a}+\\sqrt{{{b}}}')]
    return draw.choice(pairs)


def matrix(draw):
    kind, other_kind = draw.choice(['pmatrix', 'bmatrix']), draw.choice(['pmatrix', 'bmatrix'])
    rows, columns = draw.randint(1, 3), draw.randint(1, 3)
    cells = [[draw.randint(-9, 9) for _ in range(columns)] for _ in range(rows)]

    def written(kind, cells):
        inner = '\\\\'.join('&'.join(map(str, row)) for row in cells)
        return f'\\begin{{{kind}}}{inner}\\end{{{kind}}}'
    gold = written(kind, cells)
    if draw.random() < 0.4:
        cells[-1][-1] += 1
    return gold, written(other_kind, cells)


def complex_number(draw):
    a, b = draw.digit(), draw.digit()
    same = [f'{b}i+{a}', f'{a}+i\\cdot {b}', f'{a} + {b}i']
    return f'{a}+{b}i', draw.choice(same if draw.random() < 0.6 else [f'{a}-{b}i', f'{b}+{a}i' if a != b else '0', f'{a + b}i'])


def unit(draw):
    number = draw.randint(1, 200)
    other = number if draw.random() < 0.6 else draw.near(number)
    forms = [f'{other}\\text{{ cm}}', f'{other}\\text{{ square units}}', f'{other}^\\circ', f'{other}\\mathrm{{ kg}}', f'\\${other}', f'{other}\\text{{ apples}}']
    return str(number), draw.choice(forms)


def words(draw):
    names = ['Monday', 'Tuesday', 'red', 'yes', 'no solution', 'Alice', 'even', 'odd', 'isosceles triangle', 'A', 'B', 'C']
    name = draw.choice(names)
    other = name if draw.random() < 0.6 else draw.choice(names)
    return f'\\text{{{name}}}', f'\\text{{{draw.choice([other, other.lower() if len(other) > 1 else other, other.upper()])}}}'


def base(draw):
    digits = ''.join(draw.choice('01') for _ in range(draw.randint(2, 6))).lstrip('0') or '1'
    return f'{digits}_2', draw.choice([f'{digits}_{{2}}', digits, f'{digits}1_2', f'{digits}0'])


def infinite(draw):
    return draw.choice([('\\infty', '+\\infty'), ('\\infty', '-\\infty'), ('-\\infty', '-\\infty'), ('\\infty', str(draw.digit())), ('\\emptyset', '\\{\\}'),
                        (str(draw.digit()), '\\emptyset'), ('\\mathbb{R}', '(-\\infty,\\infty)')])


KINDS = [integer, factorial, decimal, fraction, percent, root, cube_root, conjugate, power, scientific, polynomial, binomial_power, rational,
         trigonometry, angle, logarithm, exponential, magnitude, pi, finite_set, union, ordered, interval, rays, pieces, without, inequality,
         bounded, assignment, line, circle, solutions, plus_minus, matrix, complex_number, unit, words, base, infinite]


def read(text):
    return parse(f'${text}$')


def main(path, count='5000'):
    logging.disable(logging.CRITICAL)
    draw = Draw(SEED)
    lines, seen = [], set()
    while len(lines) < int(count):
        kind = KINDS[len(lines) % len(KINDS)]
        # A kind that has no new pair gives way to another.
        for attempt in range(20):
            gold, answer = kind(draw)
            if (gold, answer) not in seen:
                break
            kind = kind if attempt < 10 else draw.choice(KINDS)
        else:
            continue
        seen.add((gold, answer))
        decision = 'EQ' if verify(read(gold), read(answer)) else 'NE'
        lines.append(f'{decision}\t{kind.__name__}\t{gold}\t{answer}\n')
        if len(lines) % 500 == 0:
            print(len(lines), file=sys.stderr)
    with open(path, 'wb') as raw, gzip.GzipFile(fileobj=raw, mode='wb', filename='', mtime=0) as packed:
        packed.write(''.join(lines).encode())


main(*sys.argv[1:])
