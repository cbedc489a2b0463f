"""Figures and how sure they are: the only place that makes an interval, but for predictions
(`savings.py`). Pure and deterministic.

| module | |
|---|---|
| `clusters` | the interval of a quantile (`quantile_ends`, `places`) and of a share; samples in clusters |
| `estimates` | the type of a value with its interval; differences, ratios, Wilson's share |
| `rates` | how many a second, minutes as the clusters |
| `ratios` | a mean; a share of a sum, such as of time |
| `changes` | when a share became larger, with the interval of that moment |
| `splits` | whether one part of a group differs from the rest |
| `resampled` | differences of two groups by resampling connections |
| `kept` | sums and ratios of events of which chance kept some |
| `distributions` | the level, 95 % (`Z95`, `BEYOND`), and scipy's distributions |

Distributions are scipy's; `distributions` alone imports it, when a figure is asked for, since that takes a third of a
second.
"""
