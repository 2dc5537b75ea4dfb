"""Small programs, each about one behaviour, with what CPython makes of them.

    python behaviours.py > behaviours.json

The programs stand in `behaviours/`, one file for each subject, apart from each other by a line `# ---`. The form is that of
`make.py`. Made with CPython 3.11.
"""
import contextlib
import io
import json
import pathlib
import re
import signal
import warnings

import make


def main():
    warnings.simplefilter('ignore')
    signal.signal(signal.SIGALRM, make.stop)
    programs = []
    for path in sorted(pathlib.Path(__file__).with_name('behaviours').glob('*.txt')):
        for source in path.read_text().split('# ---\n'):
            with contextlib.redirect_stdout(io.StringIO()):
                made = make.run(source)
            if made.get('class') == 'SyntaxError':
                made['text'] = re.sub(r' \(eval.py, line \d+\)$', '', made['text'])
            programs.append(made)
    print(json.dumps(programs, ensure_ascii=False, indent=0))


if __name__ == '__main__':
    main()
