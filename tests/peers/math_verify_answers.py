"""Answers as models write them, with the decision of OpenCompass's MATHVerifyEvaluator on each.

    python math_verify_answers.py OPENCOMPASS answers.jsonl      # in an environment with math-verify==0.9.0

OPENCOMPASS is the unpacked package, version 0.5.4. A line has the gold answer, the whole answer and the decision.
"""
import json
import logging
import os
import random
import sys
import types

SEED = 20261129

# Values with their ways to be written, right ones before wrong ones: gold answer, equal, unequal.
VALUES = [
    ('33', ['33', '033', '33.0', '33.', '\\text{33}', '\\textbf{33}', '0033', 'x=33'], ['34', '3', '330', '-33']),
    ('070', ['70', '070', '70^\\circ', '70\\text{ cm}', '70 \\text{ degrees}'], ['7', '071', '700']),
    ('204', ['204', '\\text{Answer: } 204', 'm+n = 204', '100+104', '\\mathbf{204}'], ['240', '2.04', '\\text{none}']),
    ('1234', ['1234', '1,234', '1{,}234', '1{,}234.00', '1\\,234'], ['1.234', '234', '12,34']),
    ('70000', ['\\$70,000', '\\$70{,}000', '70000', '7\\times 10^4', '70{,}000.00'], ['70', '700000', '\\$7,000']),
    ('\\frac{1}{2}', ['\\frac{1}{2}', '\\frac12', '\\dfrac{1}{2}', '0.5', '1/2', '.5', '\\frac{2}{4}'], ['2', '0.05', '\\frac13']),
    ('2\\sqrt{3}', ['2\\sqrt{3}', '\\sqrt{12}', '2\\sqrt3', '\\frac{6}{\\sqrt{3}}'], ['\\sqrt{6}', '3.46', '2']),
    ('-3', ['-3', '-3.0', 'x = -3', '{-3}', '-\\frac{6}{2}'], ['3', '-30', '\\pm 3']),
    ('(1,2)', ['(1,2)', '(1, 2)', '\\left(1,2\\right)', '(1, \\frac{4}{2})'], ['(2,1)', '(1,2,3)', '[1,2]']),
    ('\\{1,2\\}', ['1, 2', '\\{2,1\\}', '1 \\text{ and } 2', '2,1'], ['1', '1,3', '3']),
    ('x^2+2x+1', ['x^2+2x+1', '(x+1)^2', '1+2x+x^2'], ['x^2+1', '(x-1)^2']),
    ('50\\%', ['50\\%', '50', '0.5', '\\frac{1}{2}'], ['5', '5\\%', '500']),
    ('\\text{(B)}', ['\\text{(B)}', 'B', '\\text{B}'], ['A', '\\text{(C)}']),
    ('[0,1)', ['[0,1)', '\\left[0, 1\\right)', '0 \\le x < 1'], ['(0,1]', '[0,1]']),
    ('\\pi', ['\\pi', '\\frac{2\\pi}{2}'], ['3.14', '2\\pi']),
    ('y=2x+1', ['y=2x+1', 'y = 1 + 2x', '2x-y+1=0'], ['y=2x', '2x+1=0']),
    ('\\begin{pmatrix}1\\\\2\\end{pmatrix}', ['\\begin{pmatrix}1\\\\2\\end{pmatrix}', '\\begin{bmatrix} 1 \\\\ 2 \\end{bmatrix}'],
     ['\\begin{pmatrix}2\\\\1\\end{pmatrix}']),
    ('Monday', ['\\text{Monday}', 'Monday'], ['\\text{Tuesday}']),
]

# Ways in which a value stands in an answer.
BOXES = [
    'So the answer is \\boxed{%s}.',
    'Thus $m+n = \\boxed{%s}$.',
    'We conclude\n\\[\n\\boxed{%s}\n\\]',
    '$$\\boxed{%s}$$\n\nThis is the final answer.',
    'Therefore, the final answer is: $\\boxed{%s}$. I hope it is correct.',
    '\\(\\boxed{%s}\\)',
    '**Final Answer**\n\\boxed{%s}\n\nNote that $a_{1}=4$ holds, as in \\frac{a}{b}.',
    'Let \\(x\\) be it.\n\n\\boxed{ %s }',
    '\\boxed{\\boxed{%s}}',
    'The value $t$ is 5, so $x=\\boxed{%s}$, which is what we sought for all $n$.',
]
PROSE = [
    'The answer is $%s$.',
    'Answer: $%s$',
    'The final answer is $%s$.',
    '**Answer:** \\(%s\\)',
    'Final answer: %s',
    'So we get $%s$.',
    'The answer is %s.',
    'The answer to the question that was asked is, as computed above, $%s$ exactly.',
    '\\[ %s \\]',
]

WRITTEN = [
    # NeMo-Skills PR 1074
    ('33', 'so \\boxed{033}'), ('033', 'so \\boxed{33}'), ('25', '\\boxed{025}'), ('025', 'x'),
    # several boxes
    ('7', '\\boxed{5} is wrong; it is \\boxed{7}'), ('5', '\\boxed{5} is wrong; it is \\boxed{7}'),
    ('7', 'First $\\boxed{5}$. But checking again, we see that the second case was forgotten, hence $\\boxed{7}$.'),
    ('5', 'First $\\boxed{5}$. But checking again, we see that the second case was forgotten, hence $\\boxed{7}$.'),
    ('7', 'First \\boxed{5}. But checking again, we see that the second case was forgotten altogether, and so it is hence \\boxed{7}.'),
    ('\\{1,2\\}', '\\boxed{1} and \\boxed{2}'), ('1,2', '$\\boxed{1}$ and $\\boxed{2}$'), ('1,2', '$\\boxed{1}$, $\\boxed{2}$'),
    ('2', '\\boxed{1} and \\boxed{2}'), ('1,-2', '$x=\\boxed{1}$ and $x=\\boxed{-2}$'), ('3', '\\boxed{3}, \\boxed{3}'),
    ('3', 'the number is \\boxed{3} or equivalently the value \\boxed{3}'), ('4', '\\boxed{4}\n\n\\boxed{4}'),
    ('6', 'Case 1: \\boxed{2}.\nCase 2: \\boxed{4}.\nSum: \\boxed{6}'), ('6', 'Case one gives \\boxed{2} by the first lemma above.\nSo \\boxed{6}'),
    # no answer, or one that is cut off
    ('33', ''), ('33', 'I do not know.'), ('33', '\\boxed{}'), ('33', '\\boxed{33'), ('33', '$\\boxed{33'), ('33', 'The answer is 33'),
    ('33', 'Let me think about this step by step. First, $x = 33$. Next,'), ('3', '\\boxed{3} and then \\boxed{}'),
    ('33', 'x = 33'), ('33', '33'), ('33', '$33$'), ('33', '**33**'), ('33', '\\fbox{33}'), ('33', '$\\fbox{33}$'), ('33', '\\boxed 33'),
    ('33', '\\boxed{\\text{none}}'), ('33', '\\boxed{?}'), ('33', '\\boxed{33}}'), ('33', '\\boxed{{33}}'), ('33', 'boxed{33}'),
    # markers in prose
    ('12', 'The answer is $12$, not $13$.'), ('13', 'The answer is $12$, not $13$.'), ('12', 'Answer: $12$. Check: $6+6=12$.'),
    ('12', 'Answer: $x = 12$'), ('12', 'The answer: $x=4\\cdot 3=12$'), ('12', 'My answer is \\(12\\), as $a$ is $3$.'),
    ('2,3', 'The answer is $2$ and $3$.'), ('2,3', 'The answers are $x=2$ or $x=3$.'), ('3', 'The answer is $2$ and $3$.'),
    ('\\frac{3}{4}', 'The answer is \\frac{3}{4}'), ('\\frac{3}{4}', 'Answer: 3/4'), ('75', 'The answer is $75\\%$.'), ('75', 'Answer: $75$ percent'),
    ('0.75', 'The answer is $75$%.'), ('9', 'The final answer is $9$. I hope it is correct.'), ('9', 'The final answer is $9$ and not \\boxed{8}.'),
    ('8', 'The final answer is $9$ and not \\boxed{8}.'), ('8', '\\boxed{8}. The final answer is $9$.'), ('9', '\\boxed{8}. The final answer is $9$.'),
    ('9', '\\boxed{8}. The answer is $9$.'), ('8', '\\boxed{8}. The answer is $9$.'), ('9', 'final answer is 9'),
    ('9', '\\boxed{8}. The final answer is $9$. I hope it is correct.'), ('8', '\\boxed{8}. The final answer is $9$. I hope it is correct.'),
    ('5', 'answer [ 5 ] here'), ('5', 'answer\\[5\\]'), ('5', 'answer $$5$$'), ('5', 'answer $5$ and answer $6$'), ('6', 'answer $5$ and answer $6$'),
    # gold answers of other forms
    ('\\boxed{14}', '\\boxed{14}'), ('14.0', '\\boxed{14}'), ('14 cm', '\\boxed{14}'), ('$14$', '\\boxed{14}'), ('14$', '\\boxed{14}'),
    ('', '\\boxed{14}'), ('so it is 14', '\\boxed{14}'), ('the answer is 14', '\\boxed{14}'), ('14 apples', '\\boxed{14}'), ('\\$14', '\\boxed{14}'),
    ('she pays 4*5=20\n#### 20', '\\boxed{20}'), ('she pays 4*5=20\n#### 1,020', '\\boxed{1020}'), ('1.5e3', '\\boxed{1500}'), ('1e3', '\\boxed{1000}'),
    ('A', '\\boxed{A}'), ('A', '\\boxed{\\text{A}}'), ('yes', '\\boxed{\\text{yes}}'), ('yes', '\\boxed{yes}'), ('yes', '\\boxed{Yes}'), ('no', '\\boxed{yes}'),
    ('3:20', '\\boxed{3:20}'), ('2023-01-05', '\\boxed{2023-01-05}'), ('\\frac{14}{3} \\text{ m}', '\\boxed{\\frac{14}{3}}'),
    # relations, and which side is which
    ('(1,2)', '\\boxed{1<x<2}'), ('1<x<2', '\\boxed{(1,2)}'), ('x>3', '\\boxed{(3,\\infty)}'), ('(3,\\infty)', '\\boxed{x>3}'),
    ('5', '\\boxed{x=5}'), ('x=5', '\\boxed{5}'), ('3', '\\boxed{a+b=1+2=3}'), ('x=\\pm 2', '\\boxed{2,-2}'), ('\\pm 2', '\\boxed{-2, 2}'),
    ('1+2i', '\\boxed{2i+1}'), ('\\emptyset', '\\boxed{\\emptyset}'), ('\\infty', '\\boxed{+\\infty}'), ('1011_2', '\\boxed{1011_2}'),
    # what takes long
    ('5', '\\boxed{1000000!}'), ('5', '\\boxed{10^{10^{10}}}'), ('5', '\\boxed{' + '{' * 200 + '5' + '}' * 200 + '}'),
    # Chinese
    ('33', '所以答案是\\boxed{33}。'), ('33', '所以答案是$33$。'), ('33', '答案：３３'), ('33', '\\boxed{３３}'),
    # long ones with more around the box
    ('42', 'Step 1: $a=2$, $b=3$.\nStep 2: Then $a\\cdot b = 6$ and $c = 7$.\nStep 3: $6 \\cdot 7 = \\boxed{42}$\n\nSo each $x_{i}$ is {small}.'),
    ('42', '\\begin{align*}\nx &= 6 \\cdot 7\\\\\n&= \\boxed{42}\n\\end{align*}'), ('42', '\\[\nx = 6\\cdot 7 = \\boxed{42}\n\\]\nThe set \\(\\{1,2\\}\\) is used.'),
    ('42', 'It costs $42 and \\boxed{42} dollars, or $43.'), ('42', '\\boxed{42 \\text{ apples}}'), ('42', '\\boxed{42\\,\\text{m}^2}'),
    ('42', '\\boxed{\\text{The answer is } 42}'), ('42', '\\boxed{42} \\text{ because } \\boxed{41}'), ('42', '\\boxed{n = 42 \\text{ or } n = 42}'),
    ('1000', '\\boxed{1,000}'), ('1,000', '\\boxed{1000}'), ('1000', '\\boxed{10^3}'), ('0.333', '\\boxed{\\frac13}'), ('0.333333', '\\boxed{\\frac{1}{3}}'),
    ('8', '\\boxed{2^3}'), ('\\sqrt{2}', '\\boxed{\\sqrt2}'), ('\\frac{\\sqrt{3}}{2}', '\\boxed{\\frac{\\sqrt3}2}'), ('12', '\\boxed{12.}'), ('12', '\\boxed{12,}'),
]


def answers():
    draw = random.Random(SEED)
    rows = list(WRITTEN)
    for gold, right, wrong in VALUES:
        for at, form in enumerate(BOXES):
            rows.append((gold, form % draw.choice(right if at % 3 else wrong)))
        for form in draw.sample(PROSE, 5):
            rows.append((gold, form % draw.choice(right + wrong[:1])))
    return rows


def evaluator(folder):
    """The peer's class, without what else its package imports."""
    base = types.ModuleType('opencompass.openicl.icl_evaluator')
    base.BaseEvaluator = type('BaseEvaluator', (), {'is_num_equal': lambda self, *_: None})
    registry = types.ModuleType('opencompass.registry')
    registry.ICL_EVALUATORS = types.SimpleNamespace(register_module=lambda: lambda cls: cls)
    for name in ('opencompass', 'opencompass.openicl'):
        sys.modules[name] = types.ModuleType(name)
    sys.modules[base.__name__], sys.modules[registry.__name__] = base, registry
    path = os.path.join(folder, 'opencompass', 'evaluator', 'math_evaluator.py')
    module = types.ModuleType('math_evaluator')
    exec(compile(open(path).read(), path, 'exec'), module.__dict__)
    return module.MATHVerifyEvaluator()


def main(folder, path):
    logging.disable(logging.CRITICAL)
    import latex2sympy2_extended  # noqa: F401  before the evaluator's processes are forked
    import math_verify  # noqa: F401
    judge = evaluator(folder)
    with open(path, 'w') as out:
        for gold, answer in answers():
            correct = judge.score([answer], [gold])['accuracy'] == 100
            row = {'gold': gold, 'answer': answer, 'correct': correct}
            out.write(json.dumps(row, ensure_ascii=False) + '\n')


main(*sys.argv[1:])
