"""The shapes of panels. Every one has a title, a unit and a description."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from grafana_foundation_sdk.builders import barchart, common, geomap, stat, table, timeseries, trend
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models import geomap as geomaps
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue as Property
from quiclens_schema.catalogue import CAUSES

from quiclens_dashboards import look
from quiclens_dashboards.ask import TABLE, TIME_SERIES, PanelQuery, source, sql

_Shape = TypeVar("_Shape", timeseries.Panel, trend.Panel, table.Panel, stat.Panel, barchart.Panel, geomap.Panel)

_SHORTEST_STEP = "1m"  # in less, a p99 has too few requests
_HALF, _WHOLE, _HEIGHT, _STAT_HEIGHT = 12, 24, 8, 4  # of Grafana's grid


def over_time(
    title: str, query: str, unit: str, description: str, *, series: Sequence[str] = (), is_stacked: bool = False
) -> timeseries.Panel:
    """Lines over time, or areas that add up; `series` names the columns that have a colour of their own."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TIME_SERIES))
        .interval(_SHORTEST_STEP)
        .unit(unit)
        .min(0)
        .span(_HALF)
        .height(_HEIGHT)
        .line_width(1)
        .fill_opacity(70 if is_stacked else 5)
        .show_points(kinds.VisibilityMode.AUTO)
        .stacking(common.StackingConfig().mode(kinds.StackingMode.NORMAL if is_stacked else kinds.StackingMode.NONE))
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
        .legend(_legend())
    )
    return _dressed(panel, query, look.colours(series))


def since(title: str, query: str, unit: str, description: str, *, x: str, series: Sequence[str]) -> trend.Panel:
    """Lines over a number that is no moment, such as the time since something began."""
    panel = (
        trend.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .x_field(x)
        .unit(unit)
        .span(_HALF)
        .height(_HEIGHT)
        .line_width(1)
        .fill_opacity(5)
        .show_points(kinds.VisibilityMode.AUTO)
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
        .legend(_legend())
    )
    return _dressed(panel, query, [*look.units(), *look.colours(series)])


def by_label(panel: timeseries.Panel, label: str) -> timeseries.Panel:
    """Series are called by the value of a text column, not by the number's column."""
    return panel.display_name(f"${{__field.labels.{label}}}")


def counted(panel: timeseries.Panel) -> timeseries.Panel:
    """The column `measured` stands behind the lines as bars, with an axis of its own."""
    bars = [
        Property("unit", look.COUNT),
        Property("custom.drawStyle", "bars"),
        Property("custom.axisPlacement", "right"),
        Property("custom.fillOpacity", 15),
        Property("custom.lineWidth", 0),
    ]
    return panel.with_override(dashboard.MatcherConfig(id_val="byName", options="measured"), bars)


def rows(title: str, query: str, description: str, *, unit: str = look.COUNT, is_wide: bool = True) -> table.Panel:
    """A table; columns have units, colours and links by their names, `unit` is for those that say none."""
    panel = (
        table.Panel()
        .title(title)
        .description(description + _at_most(query))
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .unit(unit)
        .thresholds(look.PLAIN)
        .span(_WHOLE if is_wide else _HALF)
        .height(_HEIGHT)
        .cell_height(kinds.TableCellHeight.SM)
        .filterable(True)
    )
    return _dressed(panel, query, [*look.units(), *look.links(), *look.cause_cells(), *look.coverage_cells()])


def _at_most(query: str) -> str:
    """What a table's description says where its list may be cut."""
    text = sql(query)
    limit = text.rpartition("LIMIT ")[2].strip()
    return f" At most {limit} rows are shown; `rows_in_all` is how many there are." if "AS rows_in_all" in text else ""


def matrix(
    title: str,
    query: str,
    unit: str,
    description: str,
    *,
    row: str,
    column: str,
    value: str,
    steps: look.Steps = look.SLOW,
) -> table.Panel:
    """A heat map of two text columns: one row each, one column each, cells coloured by `value`."""
    return (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .with_transformation(
            dashboard.DataTransformerConfig(
                id_val="groupingToMatrix",
                options={"rowField": row, "columnField": column, "valueField": value, "emptyValue": "null"},
            )
        )
        .unit(unit)
        .thresholds(steps)
        .cell_options(kinds.TableColoredBackgroundCellOptions(mode=kinds.TableCellBackgroundDisplayMode.BASIC))
        .override_by_regexp(f"{row}.{column}", [Property("custom.cellOptions", {"type": "auto"})])
        .span(_WHOLE)
        .height(_HEIGHT)
        .cell_height(kinds.TableCellHeight.SM)
    )


def numbers(title: str, query: str, description: str, *, thresholds: look.Steps = look.PLAIN) -> stat.Panel:
    """The numbers of one row, side by side."""
    panel = (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .unit(look.COUNT)
        .thresholds(look.PLAIN)
        .span(_HALF)
        .height(_STAT_HEIGHT)
        .graph_mode(kinds.BigValueGraphMode.NONE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )
    return _dressed(panel, query, [*look.units(), look.judged(thresholds)])


def cause_bars(title: str, query: str, description: str, *, x: str) -> barchart.Panel:
    """One bar a row, split by cause."""
    panel = (
        barchart.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .unit(look.SHARE)
        .x_field(x)
        .orientation(kinds.VizOrientation.HORIZONTAL)
        .stacking(kinds.StackingMode.NORMAL)
        .show_value(kinds.VisibilityMode.NEVER)
        .min(0)
        .max(1)
        .span(_HALF)
        .height(2 * _HEIGHT)
        .fill_opacity(80)
        .legend(_legend())
    )
    return _dressed(panel, query, look.colours(CAUSES))


def on_map(title: str, query: str, description: str, *, colour: str, size: str) -> geomap.Panel:
    """A marker for each row, at its columns `latitude` and `longitude`, in degrees."""
    style = {
        "color": {"field": colour},
        "size": {"field": size, "fixed": 5, "min": 4, "max": 16},
        "symbol": {"mode": "fixed", "fixed": "img/icons/marker/circle.svg"},
        "opacity": 0.7,
    }
    place = common.FrameGeometrySource().mode(kinds.FrameGeometrySourceMode.COORDS)
    markers = (
        common.MapLayerOptions()
        .type("markers")
        .name(title)
        .config({"style": style, "showLegend": True})
        .location(place.latitude("latitude").longitude("longitude"))
    )
    panel = (
        geomap.Panel()
        .title(title)
        .description(description)
        .datasource(source())
        .with_target(PanelQuery(query, TABLE))
        .unit(look.COUNT)
        .thresholds(look.SLOW)
        .span(_WHOLE)
        .height(2 * _HEIGHT)
        .basemap(common.MapLayerOptions().type("default").name("Basemap"))
        .layers([markers])
        .view(geomap.MapViewConfig().id(geomaps.MapCenterID.FIT).zoom(15).padding(5))
        .controls(geomap.ControlsOptions().show_zoom(True).mouse_wheel_zoom(False).show_attribution(True))
        .tooltip(geomap.TooltipOptions().mode(geomaps.TooltipMode.DETAILS))
    )
    return _dressed(panel, query, look.units())


def coverage() -> stat.Panel:
    """What the dashboard's numbers stand on: without a trace, a request has a duration and no cause."""
    description = (
        "Requests of the window that fit what was chosen, the share of them whose connection has a trace, "
        "and how many have a damaged log: records are missing, and the largest part may be another."
    )
    return numbers("Coverage", "coverage", description, thresholds=look.COVERAGE)


def _dressed(panel: _Shape, query: str, overrides: Iterable[look.Override]) -> _Shape:
    """The panel with what fits the columns of its query."""
    for override in overrides:
        if override.is_for(sql(query)):
            panel.with_override(override.matcher, override.properties)
    return panel


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(kinds.LegendDisplayMode.LIST)
        .placement(kinds.LegendPlacement.BOTTOM)
    )
