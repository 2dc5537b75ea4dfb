"""Imports single modules of the peers' packages without what their __init__ files pull in (torch, mmengine, ...)."""
import importlib.machinery
import importlib.util
import sys
import types
from unittest.mock import MagicMock

import sklearn.metrics  # noqa: F401  before the mocks, which it would take for its optional packages


class _Missing:
    """Whatever is not installed, and the peers' own package roots that would import everything, become mocks."""

    ROOTS = ("mmengine", "modelscope", "torch", "transformers", "math_verify", "mmcv", "prettytable", "wordfreq",
             "clean_fid", "rich", "tiktoken", "latex2sympy2_extended")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__ = []
        module.__spec__ = spec
        return module

    def exec_module(self, module):
        pass


class _Registry:
    def register_module(self, *args, **kwargs):
        return lambda thing: thing

    def __getattr__(self, name):
        return self


class BaseEvaluator:
    def __init__(self, pred_postprocessor=None):
        self.pred_postprocessor = pred_postprocessor


def _bare(name):
    """A package whose __init__ is not run."""
    spec = importlib.machinery.PathFinder.find_spec(name.split(".")[0])
    module = types.ModuleType(name)
    module.__path__ = [p.rstrip("/") + "/" + "/".join(name.split(".")[1:]) for p in spec.submodule_search_locations]
    sys.modules[name] = module
    return module


sys.meta_path.append(_Missing())
for name in ("opencompass", "opencompass.datasets", "opencompass.openicl", "opencompass.utils",
             "opencompass.datasets.longbench", "opencompass.datasets.agieval", "opencompass.datasets.TheoremQA",
             "opencompass.datasets.IFEval", "opencompass.openicl.icl_evaluator", "lm_eval", "lm_eval.tasks",
             "lm_eval.api"):
    bare = _bare(name)
    if name == "opencompass.utils":
        bare.get_data_path = lambda path, **kwargs: path
        bare.get_logger = MagicMock()
    if name == "opencompass.openicl.icl_evaluator":
        bare.BaseEvaluator = BaseEvaluator
sys.modules["opencompass.openicl.icl_evaluator.icl_base_evaluator"] = sys.modules["opencompass.openicl.icl_evaluator"]
for name in ("opencompass.registry", "lm_eval.api.registry"):
    sys.modules[name] = types.ModuleType(name)
for registry in ("ICL_EVALUATORS", "LOAD_DATASET", "TEXT_POSTPROCESSORS", "MODELS", "DICT_POSTPROCESSORS"):
    setattr(sys.modules["opencompass.registry"], registry, _Registry())
for decorator in ("register_metric", "register_aggregation"):
    setattr(sys.modules["lm_eval.api.registry"], decorator, lambda *a, **k: lambda thing: thing)
sys.modules["opencompass.datasets.base"] = types.ModuleType("opencompass.datasets.base")
sys.modules["opencompass.datasets.base"].BaseDataset = object
sys.modules["opencompass.openicl"].BaseEvaluator = BaseEvaluator


def real_module(name):
    """A module that is replaced above, as it is."""
    package, _, leaf = name.rpartition(".")
    spec = importlib.machinery.PathFinder.find_spec(leaf, sys.modules[package].__path__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
