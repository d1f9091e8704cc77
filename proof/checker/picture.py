"""The scenario as a picture: starts in each second and how late they were, with a band for every fault; light or dark, as the viewer is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from proof.checker.evidence import Evidence
from proof.checker.figures import Start, starts

_WIDTH = 960
_LEFT = 60
_PLOT = 880
_STARTS = 120
_LAG = 160
_TOP = 60
_GAP = 40
_HEIGHT = _TOP + _STARTS + _GAP + _LAG + 40
_LAGS_MS = (1, 10, 100, 1_000, 10_000, 100_000)
_DECADES = len(_LAGS_MS) - 1
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.name { font-size: 14px; font-weight: 600; }
.quiet { font-size: 11px; fill: #59636e; }
.paper { fill: #ffffff; }
.bar { fill: #0969da; }
.dot { fill: #0969da; fill-opacity: 0.5; }
.grid { stroke: #d1d9e0; }
.wanted { stroke: #1a7f37; stroke-dasharray: 4 3; }
.fault { fill: #cf222e; fill-opacity: 0.25; }
.settling { fill: #cf222e; fill-opacity: 0.1; }
.stall { fill: #59636e; fill-opacity: 0.25; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .paper { fill: #0d1117; }
  .bar, .dot { fill: #4493f8; }
  .grid { stroke: #3d444d; }
  .wanted { stroke: #3fb950; }
  .fault, .settling { fill: #ff8f85; }
}
"""


def picture(evidence: Evidence) -> str:
    """The whole of it as SVG."""
    scenario = evidence.scenario
    all_starts = starts(evidence)
    scale = _PLOT / max(1.0, scenario.ended_s - scenario.began_s)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>',
            f'<text class="name" x="20" y="24">{escape(scenario.name)} on {escape(scenario.store)}, seed {scenario.seed}</text>',
            *_bands(evidence, scale),
            *_bars(evidence, scale),
            *_dots(all_starts, scenario.began_s, scale),
            *_seconds(scenario.ended_s - scenario.began_s, scale),
            "</svg>\n",
        ]
    )


def _bands(evidence: Evidence, scale: float) -> Iterator[str]:
    began_s, height = evidence.scenario.began_s, _HEIGHT - _TOP - 40
    for stall in evidence.stalls:
        x, width = _LEFT + (stall.begin_s - began_s) * scale, max(1.0, (stall.end_s - stall.begin_s) * scale)
        yield f'<rect class="stall" x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{height}"/>'
    for number, fault in enumerate(sorted(evidence.faults, key=lambda fault: fault.begin_s)):
        x = _LEFT + (fault.begin_s - began_s) * scale
        for style, until_s in (("fault", fault.end_s), ("settling", fault.settled_s)):
            width = max(1.0, (until_s - fault.begin_s) * scale)
            yield f'<rect class="{style}" x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{height}"/>'
        told = escape(f"{fault.kind} of {fault.victim}")
        yield f'<text class="quiet" x="{x:.1f}" y="{_TOP - 4 - 12 * (number % 2)}">{told}</text>'


def _bars(evidence: Evidence, scale: float) -> Iterator[str]:
    """Hits in each second."""
    began_s = evidence.scenario.began_s
    counts = Counter(int(hit.at_s - began_s) for hit in evidence.hits)
    most = max(counts.values(), default=1)
    yield f'<text class="quiet" x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{most:,}/s</text>'
    for second, count in sorted(counts.items()):
        height = count / most * _STARTS
        x = _LEFT + second * scale
        yield f'<rect class="bar" x="{x:.1f}" y="{_TOP + _STARTS - height:.1f}" width="{scale * 0.8:.1f}" height="{height:.1f}"/>'


def _dots(all_starts: Sequence[Start], began_s: float, scale: float) -> Iterator[str]:
    """How late the latest of each tenth of a second was, by powers of ten."""
    for lag_ms in _LAGS_MS:
        y = _lag_y(lag_ms)
        told = f"{lag_ms} ms" if lag_ms < 1_000 else f"{lag_ms // 1_000} s"
        yield f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _PLOT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="quiet" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{told}</text>'
    wanted = _lag_y(250)
    yield f'<line class="wanted" x1="{_LEFT}" x2="{_LEFT + _PLOT}" y1="{wanted:.1f}" y2="{wanted:.1f}"/>'
    latest: dict[int, float] = {}
    for start in all_starts:
        tenth = int((start.due_s - began_s) * 10)
        latest[tenth] = max(latest.get(tenth, 0.0), start.lag_s * 1000)
    for tenth, worst_ms in sorted(latest.items()):
        yield f'<circle class="dot" cx="{_LEFT + tenth / 10 * scale:.1f}" cy="{_lag_y(worst_ms):.1f}" r="2"/>'


def _lag_y(lag_ms: float) -> float:
    bottom = _TOP + _STARTS + _GAP + _LAG
    return bottom - min(math.log10(max(1.0, lag_ms)), _DECADES) / _DECADES * _LAG


def _seconds(lasted_s: float, scale: float) -> Iterator[str]:
    for second in range(0, int(lasted_s) + 1, 10):
        yield f'<text class="quiet" x="{_LEFT + second * scale:.1f}" y="{_HEIGHT - 16}">{second} s</text>'
