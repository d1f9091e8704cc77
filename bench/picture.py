"""The results as a picture: a bar for everyone, with the spread of the rounds and what it cost; light or dark, as the viewer is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bench.report import RESULTS, Figures, Result

PICTURE = RESULTS.with_name("latest.svg")
_WIDTH = 960
_LABEL = 150
_BARS = 420
_ROW = 22
_BAR = 14
_HEAD = 46
_GAP = 18
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.name { font-weight: 600; }
.quiet { font-size: 11px; fill: #59636e; }
.missed { fill: #b3261e; }
.paper { fill: #ffffff; }
.floor { fill: #afb8c1; }
.ours { fill: #0969da; }
.peer { fill: #d9a441; }
.spread { stroke: #1f2328; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .missed { fill: #ff8f85; }
  .paper { fill: #0d1117; }
  .floor { fill: #59636e; }
  .ours { fill: #4493f8; }
  .peer { fill: #b98a2f; }
  .spread { stroke: #e6edf3; }
}
"""


def draw(results: Sequence[Result]) -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(results))


def picture(results: Sequence[Result]) -> str:
    """The whole of it as SVG."""
    parts: list[str] = []
    top = _GAP
    for result in results:
        parts += _scenario(result, top)
        top += _HEAD + _ROW * len(result.told()) + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}" role="img">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{top}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _scenario(result: Result, top: float) -> Iterator[str]:
    ratio = f", {result.ours / result.floor:.2f} of {result.floor_is}" if result.floor else ""
    wanted = f"wanted: {result.wanted}" if result.wanted else ""
    yield f'<text class="name" x="20" y="{top + 14}">{escape(result.name)}</text>'
    yield f'<text x="{_LABEL + 90}" y="{top + 14}">{_figure(result.ours)} {escape(result.unit + ratio)}</text>'
    style = "quiet" if result.holds else "quiet missed"
    yield f'<text class="{style}" x="20" y="{top + 32}">{escape(wanted if result.holds else f"✗ {wanted}")}</text>'
    told = result.told()
    scale = _BARS / (max(figures.most for figures in told.values()) or 1)
    for number, (who, figures) in enumerate(told.items()):
        yield from _bar(who, figures, top + _HEAD + number * _ROW, scale)


def _bar(who: str, figures: Figures, top: float, scale: float) -> Iterator[str]:
    style = who if who in ("floor", "ours") else "peer"
    middle = top + _BAR / 2
    yield f'<text x="{_LABEL}" y="{top + 12}" text-anchor="end">{escape(who)}</text>'
    yield f'<rect class="{style}" x="{_LABEL + 10}" y="{top}" width="{figures.middle * scale:.1f}" height="{_BAR}" rx="2"/>'
    if figures.least < figures.most:
        ends = [_LABEL + 10 + value * scale for value in (figures.least, figures.most)]
        yield f'<line class="spread" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}"/>'
    x = _LABEL + 20 + figures.most * scale
    cost = f'<tspan class="quiet" dx="8">{escape(figures.cost)}</tspan>' if figures.cost else ""
    yield f'<text x="{x:.1f}" y="{top + 12}">{_figure(figures.middle)}{cost}</text>'


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
