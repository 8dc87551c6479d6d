# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Draws the share of the roof against n, for reduce and scan, from the rows of upsweep-bench-gpu.

    python3 bench/gpu/plot.py ROWS.jsonl [docs/performance-gpu.svg]
"""
import json
import sys

ALGORITHMS = ("reduce", "scan")
# library, type, colour, dashes. The colours have contrast on white and on black.
LINES = (
    ("upsweep", "f32", "#2f81f7", "none"),
    ("upsweep", "i8", "#2f81f7", "6 4"),
    ("cub", "f32", "#d4731a", "none"),
    ("cub", "i8", "#d4731a", "6 4"),
)
NAMES = {"upsweep": "Upsweep", "cub": "CUB"}

WIDTH, HEIGHT = 860, 400
PANEL_WIDTH, PANEL_HEIGHT = 350, 260
LEFT, TOP, GAP = 60, 50, 60
HIGHEST_SHARE = 1.2


def curves(rows):
    """{(algorithm, library, type): [(log2 n, share), ...]}"""
    found = {}
    for row in rows:
        if row["variant"] == "sum" and not row.get("promise") and row["share_of_roof"] is not None:
            key = (row["algorithm"], row["library"], row["type"])
            found.setdefault(key, []).append((row["n"].bit_length() - 1, row["share_of_roof"]))
    return {key: sorted(points) for key, points in found.items()}


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'


def exponent(x, y, k):
    return text(x, y, f'2<tspan dy="-5" font-size="9">{k}</tspan>')


def panel(algorithm, left, found, low, high):
    def at(k, share):
        x = left + (k - low) / max(high - low, 1) * PANEL_WIDTH
        return x, TOP + (1 - min(share, HIGHEST_SHARE) / HIGHEST_SHARE) * PANEL_HEIGHT

    parts = [text(left + PANEL_WIDTH / 2, TOP - 16, algorithm, extra=' font-weight="bold"')]
    for percent in range(0, 121, 20):
        x, y = at(low, percent / 100)
        kind = "roof" if percent == 100 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x + PANEL_WIDTH:.1f}" y2="{y:.1f}"/>')
        parts.append(text(x - 8, y + 4, f"{percent} %", "end"))
    for k in range(low, high + 1, 4):
        parts.append(exponent(at(k, 0)[0], TOP + PANEL_HEIGHT + 20, k))
    parts.append(text(left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 40, "elements"))
    for library, element, colour, dashes in LINES:
        points = found.get((algorithm, library, element), [])
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(k, share) for k, share in points))
        if path:
            parts.append(f'<polyline points="{path}" stroke="{colour}" stroke-dasharray="{dashes}"/>')
    return parts


def legend():
    parts = []
    for k, (library, element, colour, dashes) in enumerate(LINES):
        x, y = LEFT + 110 + k * 160, HEIGHT - 20
        parts.append(f'<polyline points="{x},{y} {x + 34},{y}" stroke="{colour}" stroke-dasharray="{dashes}"/>')
        parts.append(text(x + 42, y + 4, f"{NAMES[library]} {element}", "start"))
    return parts


def draw(rows):
    found = curves(rows)
    sizes = [k for points in found.values() for k, _ in points]
    if not sizes:
        sys.exit("plot.py: no sums in the rows")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        "<title>Share of the roof against the number of elements, caches emptied before each call</title>",
        "<style>text { fill: #24292f; } .grid { stroke: #d0d7de; } .roof { stroke: #57606a; } "
        "polyline { fill: none; stroke-width: 2; } @media (prefers-color-scheme: dark) { text { fill: #e6edf3; } "
        ".grid { stroke: #30363d; } .roof { stroke: #9198a1; } }</style>",
    ]
    for k, algorithm in enumerate(ALGORITHMS):
        parts += panel(algorithm, LEFT + k * (PANEL_WIDTH + GAP), found, min(sizes), max(sizes))
    return "\n".join(parts + legend() + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with open(sys.argv[2] if len(sys.argv) == 3 else "docs/performance-gpu.svg", "w", encoding="utf-8") as file:
        file.write(draw(rows))


if __name__ == "__main__":
    main()
