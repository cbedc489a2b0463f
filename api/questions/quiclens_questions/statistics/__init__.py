"""Figures and how sure they are: the only place that makes an interval, but for predictions
(`savings.py`). Pure and deterministic.

| module | |
|---|---|
| `clusters` | in every report: the interval of a quantile (`levels`, `places`), of a share; samples in clusters |
| `estimates` | the type of a value with its interval; differences, ratios, Wilson's share |
| `rates` | how many a second, minutes as the clusters |
| `kept` | sums and ratios of events of which chance kept some |
| `distributions` | the level, 95 % (`Z95`, `BEYOND`), and scipy's distributions |

Distributions are scipy's; `distributions` alone imports it, when a figure is asked for, since that takes a third of a
second.
"""
