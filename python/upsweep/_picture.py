# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Histograms as SVG, for notebooks."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from upsweep._histogram import Histogram

_WIDTH, _HEIGHT, _MARGIN = 480, 200, 24
_MOST_BARS = 480  # one a pixel


def svg_of(histogram: Histogram) -> str:
    values, edges = histogram.values(), np.asarray(histogram.edges, dtype=np.float64)
    left, right = edges[0], edges[-1]
    highest = max(values.max(initial=0.0), np.finfo(np.float64).tiny)
    x = (edges - left) / (right - left) * _WIDTH
    heights = np.nan_to_num(values / highest) * _HEIGHT
    if len(values) > _MOST_BARS:
        # The highest of the bars that share a pixel.
        pixel = np.minimum(x[:-1].astype(int), _WIDTH - 1)
        tallest = np.zeros(_WIDTH)
        np.maximum.at(tallest, pixel, heights)
        heights, x = tallest, np.arange(_WIDTH + 1.0)
    # One outline for all bars: a path of steps.
    steps = "".join(f"V{_HEIGHT - height:.2f}H{end:.2f}" for height, end in zip(heights, x[1:]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 2 * _MARGIN}" height="{_HEIGHT + 3 * _MARGIN}" '
        f'viewBox="{-_MARGIN} {-_MARGIN} {_WIDTH + 2 * _MARGIN} {_HEIGHT + 3 * _MARGIN}" '
        'font-family="sans-serif" font-size="12" fill="currentColor">'
        f'<path d="M0 {_HEIGHT}{steps}V{_HEIGHT}Z" fill="#4c78a8" stroke="none"/>'
        f'<path d="M0 {_HEIGHT}H{_WIDTH}" stroke="currentColor"/>'
        f'<text x="0" y="{_HEIGHT + 16}">{left:.6g}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 16}" text-anchor="end">{right:.6g}</text>'
        f'<text x="0" y="-8">{values.max(initial=0.0):.6g}</text>'
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 34}" text-anchor="middle">{_outside_of(histogram)}</text></svg>'
    )


def _outside_of(histogram: Histogram) -> str:
    parts = [f"{count} {name}" for name, count in zip(("below", "above", "NaN"), histogram.outside) if count]
    return f"in no bin: {', '.join(parts)}" if parts else f"{len(histogram[0])} bins"
