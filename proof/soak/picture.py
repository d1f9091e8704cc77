"""The soak as a picture: calls, lag, memory, descriptors and what the tables weigh, over time, with a band for every accident."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from html import escape

from proof.checker.picture import STYLE
from proof.soak.records import Soak
from proof.soak.trends import Series
from proof.soak.verdict import SoakEvidence, series_of_soak

_WIDTH = 960
_LEFT = 70
_PLOT = 720
_PANEL = 110
_STEP = 150
_TOP = 60
_LAG_DECADES = 5
_OWN_STYLE = """
polyline { fill: none; stroke: #0969da; stroke-width: 1.5; }
polyline.scheduler { stroke: #8250df; }
polyline.api { stroke: #bf8700; }
polyline.PostgreSQL { stroke: #1a7f37; }
polyline.most { stroke: #cf222e; stroke-opacity: 0.5; }
@media (prefers-color-scheme: dark) {
  polyline { stroke: #4493f8; }
  polyline.scheduler { stroke: #a371f7; }
  polyline.api { stroke: #d29922; }
  polyline.PostgreSQL { stroke: #3fb950; }
  polyline.most { stroke: #ff8f85; }
}
"""
_MB = 1_000_000.0


def picture(evidence: SoakEvidence) -> str:
    """The whole of it as SVG."""
    soak = evidence.soak
    series = series_of_soak(evidence)
    windows = evidence.tally.windows
    calls = {"": [(window.at_s, float(window.calls) / 10) for window in windows]}
    lags = {
        name: [(window.at_s, _decades(value)) for window, value in values]
        for name, values in (
            ("p95", [(window, window.lag_p95_ms) for window in windows]),
            ("most", [(window, window.lag_max_ms) for window in windows]),
        )
    }
    panels: list[tuple[str, Mapping[str, Series], Callable[[float], str]]] = [
        ("calls a second", calls, lambda value: f"{value:,.0f}"),
        ("lag: 95 of 100 within, and the latest, by powers of ten", lags, lambda value: f"{10**value:,.0f} ms"),
        ("memory", _of(series, "memory"), lambda value: f"{value / _MB:,.0f} MB"),
        ("descriptors", _of(series, "descriptors"), lambda value: f"{value:,.0f}"),
        ("tables and indexes that are not kept", {"all": _hot(series)}, lambda value: f"{value / _MB:,.1f} MB"),
        ("bytes for each run and job that is kept", _of(series, "kept"), lambda value: f"{value:,.0f} B"),
    ]
    height = _TOP + _STEP * len(panels) + 20
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">',
            f"<style>{STYLE}{_OWN_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
            f'<text class="name" x="20" y="24">{soak.lasted_s / 60:.0f} minutes at {soak.rate:,} runs a second, seed {soak.seed}</text>',
            *_bands(evidence, height),
            *(line for number, panel in enumerate(panels) for line in _panel(soak, number, *panel)),
            *_minutes(soak, height),
            "</svg>\n",
        ]
    )


def _of(series: Mapping[str, Series], kind: str) -> dict[str, Series]:
    return {name.partition(" ")[2]: points for name, points in series.items() if name.startswith(f"{kind} ")}


def _hot(series: Mapping[str, Series]) -> Series:
    sums: dict[float, float] = {}
    for kind in ("table", "index"):
        for points in _of(series, kind).values():
            for at_s, value in points:
                sums[at_s] = sums.get(at_s, 0.0) + value
    return sorted(sums.items())


def _decades(lag_ms: float) -> float:
    return min(math.log10(max(1.0, lag_ms)), _LAG_DECADES)


def _x(soak: Soak, at_s: float) -> float:
    return _LEFT + (at_s - soak.began_s) / max(1.0, soak.lasted_s) * _PLOT


def _panel(
    soak: Soak, number: int, title: str, lines: Mapping[str, Series], told: Callable[[float], str]
) -> Iterator[str]:
    """From zero to the most; each line with its name where it ends."""
    top = _TOP + number * _STEP
    bottom = top + _PANEL
    most = max((value for points in lines.values() for _, value in points), default=1.0) or 1.0
    yield f'<text class="quiet" x="{_LEFT}" y="{top - 6}">{escape(title)}</text>'
    for value, y in ((most, top), (0.0, bottom)):
        yield f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _PLOT}" y1="{y}" y2="{y}"/>'
        yield f'<text class="quiet" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{escape(told(value))}</text>'
    for name, points in lines.items():
        within = [point for point in points if soak.began_s <= point[0] <= soak.ended_s]
        if not within:
            continue
        path = " ".join(f"{_x(soak, at_s):.1f},{bottom - value / most * _PANEL:.1f}" for at_s, value in within)
        yield f'<polyline class="{escape(name.partition("-")[0])}" points="{path}"/>'
        last_s, last = within[-1]
        if last_s > soak.ended_s - soak.lasted_s / 10:
            middle = bottom - last / most * _PANEL + 4
            yield f'<text class="quiet" x="{_LEFT + _PLOT + 6}" y="{middle:.1f}">{escape(name)}</text>'


def _bands(evidence: SoakEvidence, height: int) -> Iterator[str]:
    for fault in evidence.faults:
        x = _x(evidence.soak, fault.begin_s)
        width = max(1.0, _x(evidence.soak, fault.end_s) - x)
        told = escape(f"{fault.kind} of {fault.victim}")
        yield (
            f'<rect class="fault" x="{x:.1f}" y="{_TOP - 20}" width="{width:.1f}" height="{height - _TOP - 10}">'
            f"<title>{told}</title></rect>"
        )


def _minutes(soak: Soak, height: int) -> Iterator[str]:
    step = max(1, round(soak.lasted_s / 600))
    for minute in range(0, int(soak.lasted_s / 60) + 1, step):
        x = _x(soak, soak.began_s + minute * 60)
        yield f'<text class="quiet" x="{x:.1f}" y="{height - 10}">{minute} min</text>'
