"""Writes statistics.json: what scipy, statsmodels and numpy print, and Tango's interval by 60-digit arithmetic.

    python3 -m venv /tmp/v && /tmp/v/bin/pip install scipy==1.17.1 statsmodels==0.15.0 mpmath && /tmp/v/bin/python make.py
"""

import json
import pathlib

import mpmath
import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

mpmath.mp.dps = 60
rng = np.random.default_rng(24)


def tango(gained, lost, n, z):
    """Roots of (g - l - n d)^2 = z^2 n (2 q + d (1 - d)), q the constrained estimate (Tango 1998, equations 3 and 4)."""
    g, l, n, z = map(mpmath.mpf, (gained, lost, n, z))

    def score(d):
        a = 2 * n
        b = -g - l + (2 * n - g + l) * d
        c = -l * d * (1 - d)
        q = (mpmath.sqrt(b * b - 4 * a * c) - b) / (2 * a)
        variance = n * (2 * q + d * (1 - d))
        return (g - l - n * d) / mpmath.sqrt(variance) if variance > 0 else mpmath.sign(g - l - n * d) * mpmath.inf

    def solve(target, low, high):
        for _ in range(260):
            middle = (low + high) / 2
            low, high = (middle, high) if score(middle) > target else (low, middle)
        return float((low + high) / 2)

    observed = (g - l) / n
    return [solve(z, mpmath.mpf(-1), observed), solve(-z, observed, mpmath.mpf(1))]


def detectable(n, discordance, level, power):
    n, discordance, level, power = map(mpmath.mpf, (n, discordance, level, power))
    f = lambda d: level * mpmath.sqrt(discordance) + power * mpmath.sqrt(discordance - d * d) - d * mpmath.sqrt(n)
    low, high = mpmath.mpf(0), discordance
    for _ in range(260):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return float(high)


out = {}
tables = [(0, 1), (1, 0), (0, 6), (3, 3), (5, 12), (1, 9), (2, 30), (40, 61), (100, 100), (150, 101), (1000, 1210),
          (12000, 12500), (300000, 301500), (7, 400), (0, 60), (0, 1000)]
out["mcnemar"] = []
for g, l in tables:
    exact = mcnemar([[10, l], [g, 10]], exact=True).pvalue
    point = stats.binom.pmf(min(g, l), g + l, 0.5)
    out["mcnemar"].append({"gained": g, "lost": l, "exact": float(exact),
                           "mid": float(1 - 0.5 * point if g == l else exact - point)})

z95 = float(stats.norm.ppf(0.975))
counts = [(0, 0, 20), (0, 0, 1), (1, 0, 1), (1, 1, 21), (1, 7, 21), (6, 16, 161), (3, 2, 14), (0, 5, 20), (20, 0, 20),
          (9, 3, 32), (43, 0, 44), (1, 0, 44), (180, 120, 1000), (12000, 12500, 1000000), (2, 2, 50), (0, 50, 50)]
out["tango"] = [{"gained": g, "lost": l, "pairs": n, "z": z, "interval": tango(g, l, n, z)}
                for g, l, n in counts for z in (z95, float(stats.norm.ppf(0.995)))]

out["wilson"] = [{"hits": h, "total": n, "interval": list(map(float, proportion_confint(h, n, method="wilson")))}
                 for h, n in [(1, 10), (8, 10), (5, 11), (199, 200), (500000, 1000000), (3, 7)]]

points = [1e-300, 1e-12, 1e-5, 0.001, 0.02, 0.025, 0.074, 0.3, 0.5, 0.7, 0.926, 0.95, 0.975, 0.995, 0.99999, 1 - 1e-12]
out["normal_quantile"] = [{"p": p, "x": float(stats.norm.ppf(p))} for p in points]
out["normal_tail"] = [{"x": x, "p": float(stats.norm.sf(x))} for x in [-3.0, 0.0, 0.5, 1.0, 1.96, 3.3, 6.0, 9.5, 20.0]]
freedoms = [1.0, 2.0, 3.0, 4.5, 9.0, 29.0, 99.0, 999.0, 99999.0, 999999.0]
out["student_tail"] = [{"t": t, "freedom": f, "p": float(stats.t.sf(t, f))}
                       for f in freedoms for t in [0.0, 1e-3, 0.4, 1.0, 1.96, 2.8, 5.0, 9.0]]
out["student_quantile"] = [{"p": p, "freedom": f, "t": float(stats.t.ppf(p, f))}
                           for f in freedoms for p in [0.005, 0.025, 0.4, 0.6, 0.95, 0.975, 0.995, 0.9995]]

out["paired_mean"], out["clustered"], out["sign_flip"] = [], [], []
for n in (2, 5, 30, 400):
    values = np.round(rng.normal(0.1, 1.0, n), 6)
    found = stats.ttest_1samp(values, 0.0)
    interval = found.confidence_interval(0.95)
    out["paired_mean"].append({"values": values.tolist(), "mean": float(values.mean()), "stderr": float(stats.sem(values)),
                               "p": float(found.pvalue), "interval": [float(interval.low), float(interval.high)]})
for n, groups in ((12, 3), (60, 17), (500, 90)):
    clusters = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    values = np.round(rng.normal(0.05, 1.0, n) + rng.normal(0, 0.7, groups)[clusters], 6)
    fit = sm.OLS(values, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    out["clustered"].append({"values": values.tolist(), "clusters": clusters.tolist(), "count": groups,
                             "mean": float(fit.params[0]), "stderr": float(fit.bse[0]), "p": float(fit.pvalues[0])})
for n in (2, 3, 8, 14):
    values = np.round(rng.normal(0.4, 1.0, n), 3)
    values[n // 3] = -values[-1]
    found = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    out["sign_flip"].append({"values": values.tolist(), "p": float(found.pvalue)})

out["corrections"] = []
for p in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.9, 1.0], rng.uniform(0, 0.2, 25).round(5).tolist()):
    out["corrections"].append({"p": p, "holm": multipletests(p, method="holm")[1].tolist(),
                               "bh": multipletests(p, method="fdr_bh")[1].tolist()})

zp = float(stats.norm.ppf(0.8))
out["detectable"] = [{"pairs": n, "discordance": d, "level": z95, "power": zp, "share": detectable(n, d, z95, zp)}
                     for n, d in [(200, 0.1), (1000, 0.25), (14042, 0.18), (1000000, 0.03)]]
values = np.round(rng.normal(0, 1, 101), 6)
out["percentiles"] = {"values": np.sort(values).tolist(), "interval": np.quantile(values, [0.025, 0.975]).tolist()}

path = pathlib.Path(__file__).with_name("statistics.json")
path.write_text(json.dumps(out, indent=1) + "\n")
