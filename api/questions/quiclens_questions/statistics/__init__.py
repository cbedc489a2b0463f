"""Figures and how sure they are: the only place that makes an interval. Pure and deterministic.

| module | |
|---|---|
| `estimates` | a value with its 95 % interval; shares, differences, ratios |
| `clusters` | shares and quantiles of samples that have weights and come in clusters |
| `rates` | how many a second, minutes as the clusters |
| `kept` | sums and ratios of events of which chance kept some |

Distributions are scipy's; `distributions` alone imports it, when a figure is asked for, since that takes a third of a
second.
"""
