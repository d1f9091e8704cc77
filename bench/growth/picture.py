"""The curves as a picture: a row for each subject, a small panel for each cost, all with zero at their bottom and a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log10

from bench.growth.curves import FIGURES, Curve, Growth
from bench.picture import STYLE

PICTURE = FIGURES.with_suffix(".svg")
_ACROSS = 6
_WIDTH = 960
_LEFT = 20
_PANEL = 152
_PLOT_WIDTH = 104
_PLOT_HEIGHT = 56
_HEAD = 30
_ROW = 122
_GAP = 20
_OWN_STYLE = """
.curve { fill: none; stroke: #0969da; stroke-width: 2; }
.dot { fill: #0969da; }
.missed-curve { fill: none; stroke: #b3261e; stroke-width: 2; }
.axis { stroke: #afb8c1; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  .curve { stroke: #4493f8; }
  .dot { fill: #4493f8; }
  .missed-curve { stroke: #ff8f85; }
  .axis { stroke: #59636e; }
}
"""


def draw(grown: Sequence[Growth]) -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(grown))


def picture(grown: Sequence[Growth]) -> str:
    """The whole of it as SVG."""
    parts: list[str] = []
    top = float(_GAP)
    for growth in grown:
        parts.append(f'<text x="{_LEFT}" y="{top + 12}"><tspan class="name">{escape(growth.name)}</tspan>')
        parts.append(f'<tspan class="quiet" dx="10">{escape(growth.of)}</tspan></text>')
        top += _HEAD
        for number, curve in enumerate(growth.curves):
            parts += _panel(curve, _LEFT + number % _ACROSS * _PANEL, top + number // _ACROSS * _ROW)
        top += -(-len(growth.curves) // _ACROSS) * _ROW + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}" role="img">',
            f"<style>{STYLE}{_OWN_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{top}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _panel(curve: Curve, left: float, top: float) -> Iterator[str]:
    """What, its line, where it ends, its highest value in times of its first, and what is said of that."""
    missed = "" if curve.holds else " missed"
    yield f'<text class="quiet" x="{left}" y="{top + 10}">{escape(f"{curve.what}, {curve.unit}")}</text>'
    bottom = top + 18 + _PLOT_HEIGHT
    yield f'<line class="axis" x1="{left}" x2="{left + _PLOT_WIDTH}" y1="{bottom}" y2="{bottom}"/>'
    places = [(left + x * _PLOT_WIDTH, bottom - y * _PLOT_HEIGHT) for x, y in _shares(curve)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline class="{"curve" if curve.holds else "missed-curve"}" points="{line}"/>'
    for (x, y), point in zip(places, curve.points, strict=True):
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{point.at:,}: {point.middle:,.1f}</title></circle>'
    last, (_, height) = curve.points[-1], places[-1]
    yield f'<text class="quiet" x="{left + _PLOT_WIDTH + 6}" y="{height + 4:.1f}">{_figure(last.middle)}</text>'
    yield f'<text class="quiet" x="{left}" y="{bottom + 12}">{_size(curve.points[0].at)}</text>'
    end = left + _PLOT_WIDTH
    yield f'<text class="quiet" x="{end}" y="{bottom + 12}" text-anchor="end">{_size(last.at)}</text>'
    yield f'<text class="quiet{missed}" x="{left}" y="{bottom + 25}">{escape(f"{curve.ratio:.2f}: {curve.verdict}")}</text>'


def _shares(curve: Curve) -> Iterator[tuple[float, float]]:
    """Where points lie, in parts of the panel."""
    first, last = (log10(curve.points[position].at) for position in (0, -1))
    most = max(point.middle for point in curve.points) or 1.0
    for point in curve.points:
        yield (log10(point.at) - first) / ((last - first) or 1.0), point.middle / most


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def _size(at: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if at >= size:
            return f"{at // size}{letter}"
    return str(at)
