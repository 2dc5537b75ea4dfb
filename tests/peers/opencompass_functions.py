"""What CPython gives for the functions and texts of `interpreted`, and where it differs.

    interpreted TREE FUNCTION... < TEXTS > ours.jsonl
    python opencompass_functions.py ours.jsonl TEXTS      # in an environment with OpenCompass

Prints each difference, then how many functions and answers are equal. Exit code 1 where one differs.
"""
import importlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import opencompass_stubs  # noqa: E402, F401  packages that only other functions need


def shown(value):
    """As an evaluator compares it: a text, `str` of a number, nothing."""
    return value if value is None or isinstance(value, str) else str(value)


def main(ours, texts):
    texts = json.load(open(texts))
    equal = differ = refused = answers = 0
    for line in open(ours):
        record = json.loads(line)
        result = record['result']
        if 'refused' in result:
            refused += 1
            print('refused:', record['function'], result['refused'])
            continue
        dotted, _, parameters = record['function'].partition(':')
        module, _, name = dotted.rpartition('.')
        function = getattr(importlib.import_module(module), name)
        wrong = 0
        for text, given in zip(texts, result['given']):
            try:
                theirs = {'gives': shown(function(text, **json.loads(parameters or '{}')))}
            except Exception as error:
                theirs = {'raises': type(error).__name__}
            same = given == theirs if 'gives' in theirs else theirs['raises'] in given.get('raises', '')
            answers += same
            if not same:
                wrong += 1
                if wrong <= 3:
                    print('differs:', record['function'], repr(text)[:120], given, theirs)
        equal, differ = (equal, differ + 1) if wrong else (equal + 1, differ)
    print(f'{equal} functions are equal, {differ} differ, {refused} are refused; {answers} answers are equal')
    return 1 if differ else 0


sys.exit(main(*sys.argv[1:]))
