"""Imports of OpenCompass's modules one by one.

`import opencompass.datasets` imports every loader there is, and with them what each of them needs. A package that only
gathers the names of its modules is replaced by one that imports a module when one of its names is asked for. A library that
is not installed is stood in for where only the text of an import needs it: a call of it while rows are read
raises an error that names what is missing.
"""
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

ROOT = 'opencompass'


class Strict:
    """Whether a stand-in may be called: not once rows are being read."""
    on = False


class StandInType(type):

    def __getattr__(cls, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return stand_in(cls.missing, name)

    def __call__(cls, *arguments, **named):
        if Strict.on:
            raise ModuleNotFoundError(f"No module named '{cls.missing}'", name=cls.missing)
        # A decorator gives what it was given.
        if len(arguments) == 1 and callable(arguments[0]) and not isinstance(arguments[0], StandInType):
            return arguments[0]
        return cls


def stand_in(missing, name):
    return StandInType(name, (), {'missing': missing})


class StandInModule(types.ModuleType):

    def __getattr__(self, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return stand_in(self.__name__.split('.')[0], name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds libraries that are missing, for modules of OpenCompass and mmengine alone."""

    def __init__(self):
        self.missing = set()

    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in self.missing and self.is_asked_by_opencompass():
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    @staticmethod
    def is_asked_by_opencompass():
        frame = sys._getframe(2)
        while frame is not None:
            asker = frame.f_globals.get('__name__', '')
            if 'importlib' not in asker:
                return asker.split('.')[0] in (ROOT, 'mmengine') or isinstance(sys.modules.get(asker), StandInModule)
            frame = frame.f_back
        return False

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []
        module.__version__ = '0.0.0'


class Gathered:
    """The names of a package whose `__init__.py` only imports them from its modules."""

    def __init__(self, package, tree):
        self.package = package
        # The last import of a name holds.
        self.imports = [node for node in reversed(tree.body) if isinstance(node, ast.ImportFrom)]

    @staticmethod
    def of(path):
        """The syntax tree, where the file is of that kind."""
        with open(path, encoding='utf-8') as file:
            tree = ast.parse(file.read())
        only = all(isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
                   or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in tree.body)
        return tree if only else None

    def find(self, name):
        for node in self.imports:
            module = f'{self.package}.{node.module}'
            for alias in node.names:
                if alias.name == '*':
                    if name in exported(module):
                        return taken(module, name)
                elif (alias.asname or alias.name) == name:
                    return taken(module, alias.name)
        raise AttributeError(f"module '{self.package}' has no attribute '{name}'")


def taken(module, name):
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError as error:
        # Said of a package, it would mean that the name is unknown.
        raise ImportError(f'cannot import {name} from {module}: {error}') from error


def file_of(module):
    """The file of a module of OpenCompass, which is not imported for that."""
    root = sys.modules[ROOT].__path__[0]
    path = os.path.join(root, *module.split('.')[1:])
    for candidate in (path + '.py', os.path.join(path, '__init__.py')):
        if os.path.isfile(candidate):
            return candidate
    return None


NAMES = {}


def exported(module):
    """The names that `from module import *` gives."""
    if module not in NAMES:
        NAMES[module] = set()
        path = file_of(module)
        if path:
            NAMES[module] = defined(module, path)
    return NAMES[module]


def defined(module, path):
    with open(path, encoding='utf-8') as file:
        body = ast.parse(file.read()).body
    is_package = os.path.basename(path) == '__init__.py'
    names = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Import):
            names.update((alias.asname or alias.name).split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name != '*':
                    names.add(alias.asname or alias.name)
                elif node.level:
                    base = module if is_package else module.rpartition('.')[0]
                    for _ in range(node.level - 1):
                        base = base.rpartition('.')[0]
                    names |= exported(f'{base}.{node.module}' if node.module else base)
                elif node.module and node.module.split('.')[0] == ROOT:
                    names |= exported(node.module)
    return {name for name in names if not name.startswith('_')}


class GatheredLoader(importlib.machinery.SourceFileLoader):

    def exec_module(self, module):
        tree = Gathered.of(self.path)
        if tree is None:
            super().exec_module(module)
            return
        gathered = Gathered(module.__name__, tree)

        def find(name):
            # The machinery of imports asks for modules of the package too.
            if name.startswith('__'):
                raise AttributeError(name)
            value = gathered.find(name)
            setattr(module, name, value)
            return value

        module.__getattr__ = find


class Packages(importlib.abc.MetaPathFinder):
    """Finds OpenCompass's modules, in a tree where one was named."""

    def __init__(self, tree):
        self.tree = tree
        self.is_one_by_one = True

    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] != ROOT:
            return None
        if name == ROOT:
            if self.tree is None:
                return None
            file = os.path.join(self.tree, '__init__.py')
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=[self.tree])
        if not self.is_one_by_one:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations is not None and spec.origin:
            spec.loader = GatheredLoader(name, spec.origin)
        return spec


class Importer:
    """Imports what a dotted name of OpenCompass stands for."""

    def __init__(self, tree):
        self.packages = Packages(tree)
        self.stand_ins = StandIns()
        sys.meta_path.insert(0, self.packages)
        sys.meta_path.append(self.stand_ins)

    def begin(self):
        """What the first import of `opencompass.datasets` does by the way, whatever else it imports first."""
        try:
            importlib.import_module(ROOT)
            importlib.import_module(ROOT + '.utils.logging').get_logger()
        except ImportError:
            pass

    def get(self, dotted):
        """The value, imported as little as possible; else with all that its package has."""
        try:
            return self.attempt(dotted)
        except Exception as error:
            if dotted.split('.')[0] != ROOT or isinstance(error, AttributeError):
                raise
            self.packages.is_one_by_one = False
            try:
                self.forget()
                return self.attempt(dotted)
            except Exception:
                raise error from None
            finally:
                self.packages.is_one_by_one = True
                self.forget()

    def attempt(self, dotted):
        for _ in range(64):
            try:
                module, _, name = dotted.rpartition('.')
                return getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                missing = (error.name or '').split('.')[0]
                if missing in ('', ROOT) or missing in self.stand_ins.missing:
                    raise
                self.stand_ins.missing.add(missing)
                self.forget()
        raise ImportError(f'cannot import {dotted}')

    def forget(self):
        """A module whose import broke off would be half there. Registries are made once in a process."""
        for name in [name for name in sys.modules if name.startswith(ROOT + '.') and name != ROOT + '.registry']:
            del sys.modules[name]
        self.begin()

    def registered(self, name):
        """The dotted name of a class that a configuration names in quotation marks, or by a relative import."""
        return name.lstrip('.') if '.' in name else f'{ROOT}.datasets.{name}'
