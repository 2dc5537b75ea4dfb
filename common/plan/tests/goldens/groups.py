"""Writes groups.json beside it: numbers and standard errors that lm-eval 0.4.13 makes of nested groups of random tasks
(Group.aggregate). Run with lm-eval 0.4.13 installed."""

import json
import os
import random

from lm_eval.api.group import Group
from lm_eval.api.task import Task
from lm_eval.config.group import AggMetricConfig

HERE = os.path.dirname(os.path.abspath(__file__))
r = random.Random(11)


def leaf(name):
    """A task that has a name and nothing else."""
    kind = type("Leaf", (Task,), {"task_name": name})
    kind.__abstractmethods__ = frozenset()
    return object.__new__(kind)


cases = []
for _ in range(40):
    names = [f"t{at}" for at in range(r.randint(1, 7))]
    tasks = {name: leaf(name) for name in names}
    numbers = {
        name: {"size": r.choice([2, 3, 10, 57, 100, 1319, r.randint(2, 5000)]), "value": 100 * r.random(), "stderr": r.choice([0.0, 5 * r.random(), r.random()])}
        for name in names
    }
    metrics = {
        name: {"acc,none": n["value"], "acc_stderr,none": n["stderr"], "sample_len": n["size"]}
        for name, n in numbers.items()
    }
    groups, members = {}, {}
    for at in range(r.randint(1, 4)):
        pool = names + list(groups)
        chosen = r.sample(pool, r.randint(1, min(4, len(pool))))
        group = Group(f"g{at}")
        for name in chosen:
            group.add(tasks[name] if name in tasks else groups[name])
        groups[f"g{at}"], members[f"g{at}"] = group, chosen
    found = []
    for name, group in groups.items():
        for by_size in [True, False]:
            config = AggMetricConfig(metric="acc", weight_by_size=by_size)
            group.aggregate_metric_list = [config]
            told = group.aggregate(metrics)
            found.append(
                {
                    "group": name,
                    "weight_by_size": by_size,
                    "leaves": [task.task_name for task in group.get_all_tasks()],
                    "value": float(told["acc,none"]),
                    "stderr": float(told["acc_stderr,none"]),
                }
            )
    cases.append({"tasks": numbers, "groups": members, "found": found})
with open(os.path.join(HERE, "groups.json"), "w") as out:
    out.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
