"""Stands in for packages that OpenCompass imports and that are not installed: its modules can be imported, and what would call such a
package gets nothing of use. Imports by other packages are left alone, for they ask what is there."""

import importlib.abc
import importlib.machinery
import sys
import types

ABSENT = {"torch_musa", "torch_npu", "torch_mlu"}


class Stub:
    def __init__(self, name="stub"):
        self.__dict__["_name"] = name

    def __getattr__(self, key):
        if key.startswith("__") and key.endswith("__"):
            raise AttributeError(key)
        return Stub(f"{self._name}.{key}")

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return Stub(f"{self._name}()")

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return False

    def __mro_entries__(self, bases):
        return (object,)

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __getitem__(self, key):
        return self

    def __bool__(self):
        return False


class StubModule(types.ModuleType):
    def __getattr__(self, key):
        if key.startswith("__") and key.endswith("__"):
            raise AttributeError(key)
        return Stub(f"{self.__name__}.{key}")


def importer():
    """The module that asks for an import."""
    frame = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame else ""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        top, parent = name.split(".")[0], name.rpartition(".")[0]
        if top in ABSENT or top == "opencompass" or top in sys.stdlib_module_names:
            return None
        of_stub = isinstance(sys.modules.get(parent), StubModule)
        if not of_stub and (parent or not importer().startswith("opencompass")):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = StubModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())


def clear():
    """Forgets stubs whose presence others look up before they use them."""
    for name in [name for name, module in sys.modules.items() if isinstance(module, StubModule)]:
        if name.split(".")[0] in {"torch", "spacy", "tiktoken", "transformers", "jax", "tensorflow"}:
            del sys.modules[name]
