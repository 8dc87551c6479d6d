# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Draws the share of the roof from the rows of upsweep-bench-gpu: against n for reduce and scan or, with --histogram,
against the number of bins. Rows of histogram_peers.py may be appended to the latter.

    python3 bench/gpu/plot.py ROWS.jsonl [docs/performance-gpu.svg]
    python3 bench/gpu/plot.py --histogram ROWS.jsonl [docs/performance-histogram.svg]
"""
import json
import statistics
import sys

# The colours have contrast on white and on black.
COLOURS = {"upsweep": "#2f81f7", "cub": "#d4731a", "torch": "#2da44e", "cupy": "#a475f9"}
NAMES = {"upsweep": "Upsweep", "cub": "CUB", "torch": "PyTorch", "cupy": "CuPy"}
FOLDS = ("reduce", "scan")
# library, type, dashes
FOLD_LINES = (("upsweep", "f32", "none"), ("upsweep", "i8", "6 4"), ("cub", "f32", "none"), ("cub", "i8", "6 4"))
SAMPLES = ("i32", "f32")

WIDTH, HEIGHT = 860, 400
PANEL_WIDTH, PANEL_HEIGHT = 350, 260
LEFT, TOP, GAP = 60, 50, 60


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'


def exponent(x, y, k):
    return text(x, y, f'2<tspan dy="-5" font-size="9">{k}</tspan>')


def line(points, colour, dashes="none"):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" stroke="{colour}" stroke-dasharray="{dashes}"/>'


class Panel:
    """Exponents of two from left to right, shares of the roof upwards."""

    def __init__(self, place, low, high, highest_share):
        self.left = LEFT + place * (PANEL_WIDTH + GAP)
        self.low, self.high, self.highest_share = low, high, highest_share

    def at(self, k, share):
        x = self.left + (k - self.low) / max(self.high - self.low, 1) * PANEL_WIDTH
        return x, TOP + (1 - min(share, self.highest_share) / self.highest_share) * PANEL_HEIGHT

    def frame(self, title, below):
        parts = [text(self.left + PANEL_WIDTH / 2, TOP - 16, title, extra=' font-weight="bold"')]
        for percent in range(0, round(100 * self.highest_share) + 1, 20):
            x, y = self.at(self.low, percent / 100)
            kind = "roof" if percent == 100 else "grid"
            parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x + PANEL_WIDTH:.1f}" y2="{y:.1f}"/>')
            parts.append(text(x - 8, y + 4, f"{percent} %", "end"))
        for k in range(self.low + -self.low % 2, self.high + 1, 4):
            parts.append(exponent(self.at(k, 0)[0], TOP + PANEL_HEIGHT + 20, k))
        parts.append(text(self.left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 40, below))
        return parts


def picture(title, parts):
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{title}</title>",
        "<style>text { fill: #24292f; } .grid { stroke: #d0d7de; } .roof { stroke: #57606a; } "
        "polyline { fill: none; stroke-width: 2; } @media (prefers-color-scheme: dark) { text { fill: #e6edf3; } "
        ".grid { stroke: #30363d; } .roof { stroke: #9198a1; } }</style>",
    ]
    return "\n".join(head + parts + ["</svg>"]) + "\n"


def legend(entries):
    """Of names with what is drawn from the left to the right of a line at (x, y)."""
    parts = []
    for k, (name, drawn) in enumerate(entries):
        x, y = LEFT + 110 + k * 160, HEIGHT - 20
        parts += drawn(x, y) + [text(x + 42, y + 4, name, "start")]
    return parts


def fold_curves(rows):
    """{(algorithm, library, type): [(log2 n, share), ...]}"""
    found = {}
    for row in rows:
        if row["variant"] == "sum" and not row.get("promise") and row["share_of_roof"] is not None:
            key = (row["algorithm"], row["library"], row["type"])
            found.setdefault(key, []).append((row["n"].bit_length() - 1, row["share_of_roof"]))
    return {key: sorted(points) for key, points in found.items()}


def draw_folds(rows):
    found = fold_curves(rows)
    sizes = [k for points in found.values() for k, _ in points]
    if not sizes:
        sys.exit("plot.py: no sums in the rows")
    parts = []
    for place, algorithm in enumerate(FOLDS):
        panel = Panel(place, min(sizes), max(sizes), 1.2)
        parts += panel.frame(algorithm, "elements")
        for library, element, dashes in FOLD_LINES:
            points = found.get((algorithm, library, element), [])
            if points:
                parts.append(line([panel.at(*point) for point in points], COLOURS[library], dashes))

    def entry(library, element, dashes):
        return f"{NAMES[library]} {element}", lambda x, y: [line([(x, y), (x + 34, y)], COLOURS[library], dashes)]

    return picture("Share of the roof against the number of elements, caches emptied before each call",
                   parts + legend([entry(*each) for each in FOLD_LINES]))


def histogram_shares(rows):
    """{(library, type): {log2 bins: [share of each distribution]}} and {type: samples}, of the most samples that a type
    was measured with. Of several calls of a library the fastest counts."""
    rows = [row for row in rows if row["algorithm"] == "histogram" and row.get("kind", "even") == "even"]
    most = {}
    for row in rows:
        most[row["type"]] = max(most.get(row["type"], 0), row["n"])
    rows = [row for row in rows if row["n"] == most[row["type"]]]
    roofs = {}
    for row in rows:
        if row["library"] == "roof":
            roofs.setdefault(row["type"], []).append(row["ms_cold"])
    times = {}
    for row in rows:
        if row["library"] in NAMES:
            key = (row["library"], row["type"], row["variant"])
            times[key] = min(times.get(key, float("inf")), row["ms_cold"])
    found = {}
    for (library, element, variant), time in times.items():
        bins = int(variant.split()[0]).bit_length() - 1
        share = statistics.median(roofs[element]) / time
        found.setdefault((library, element), {}).setdefault(bins, []).append(share)
    return found, most


def band(panel, shares, colour):
    """From the slowest distribution to the fastest, with dots at what was measured."""
    low = [panel.at(k, min(of_bins)) for k, of_bins in sorted(shares.items())]
    high = [panel.at(k, max(of_bins)) for k, of_bins in sorted(shares.items())]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in low + high[::-1])
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in low + high]
    area = f'<polygon points="{path}" fill="{colour}" fill-opacity="0.2"/>'
    return [area, line(low, colour), line(high, colour)] + dots


def draw_histograms(rows):
    found, most = histogram_shares(rows)
    bins = [k for shares in found.values() for k in shares]
    if not bins:
        sys.exit("plot.py: no histograms in the rows")
    parts = []
    for place, element in enumerate(SAMPLES):
        panel = Panel(place, min(bins), max(bins), 1.0)
        exponent_of_size = most.get(element, 1).bit_length() - 1
        parts += panel.frame(f'{element}, 2<tspan dy="-5" font-size="9">{exponent_of_size}</tspan>'
                             '<tspan dx="4" dy="5">samples</tspan>', "bins")
        for library in reversed(NAMES):
            shares = found.get((library, element))
            if shares:
                parts += band(panel, shares, COLOURS[library])

    def entry(library):
        colour = COLOURS[library]
        return NAMES[library], lambda x, y: [
            f'<rect x="{x}" y="{y - 5}" width="34" height="10" fill="{colour}" fill-opacity="0.2"/>',
            line([(x, y - 5), (x + 34, y - 5)], colour), line([(x, y + 5), (x + 34, y + 5)], colour)]

    title = "Share of the read roof against the number of bins, from the slowest distribution of samples to the fastest"
    return picture(title, parts + legend([entry(library) for library in NAMES]))


def main():
    arguments = sys.argv[1:]
    draw, out = draw_folds, "docs/performance-gpu.svg"
    if "--histogram" in arguments:
        arguments.remove("--histogram")
        draw, out = draw_histograms, "docs/performance-histogram.svg"
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        rows = [json.loads(line_of_file) for line_of_file in file]
    with open(arguments[1] if len(arguments) == 2 else out, "w", encoding="utf-8") as file:
        file.write(draw(rows))


if __name__ == "__main__":
    main()
