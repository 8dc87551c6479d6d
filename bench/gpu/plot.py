# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Draws the share of the roof from the rows of upsweep-bench-gpu: against n for reduce and scan; with --histogram,
against the number of bins, where rows of histogram_peers.py may be appended; or, with --shapes, against the length of rows, segments and
runs. The rows of a file replace those of the files before it.

    python3 bench/gpu/plot.py ROWS.jsonl... [docs/performance-gpu.svg]
    python3 bench/gpu/plot.py --histogram ROWS.jsonl... [docs/performance-histogram.svg]
    python3 bench/gpu/plot.py --shapes ROWS.jsonl... [docs/performance-shapes.svg]
"""
import json
import math
import re
import statistics
import sys

# The colours have contrast on white and on black.
COLOURS = {"upsweep": "#2f81f7", "cub": "#d4731a", "torch": "#2da44e", "cupy": "#a475f9"}
NAMES = {"upsweep": "Upsweep", "cub": "CUB", "torch": "PyTorch", "cupy": "CuPy"}
FOLDS = ("reduce", "scan")
# library, type, dashes
FOLD_LINES = (("upsweep", "f32", "none"), ("upsweep", "i8", "6 4"), ("cub", "f32", "none"), ("cub", "i8", "6 4"))
SAMPLES = ("i32", "f32")
# title, algorithm of the rows, what their variant tells of the work and of the length, what lengths are of
SHAPES = (("rows", "lines", r"(sum|scan) of rows of \d+ x (\d+)", "elements of a row"),
          ("segments", "segments", r"(sum|scan) of segments of (\d+)", "elements of a segment"),
          ("runs of a key", "keys", r"(sum|scan|run-length encoding)(?: by key)? with runs of (\d+)", "elements of a run"))
DASHES_OF_WORK = {"sum": "none", "scan": "6 4", "run-length encoding": "2 3"}

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

    def __init__(self, place, low, high, highest_share, width=PANEL_WIDTH):
        self.width, self.left = width, LEFT + place * (width + GAP)
        self.low, self.high, self.highest_share = low, high, highest_share

    def at(self, k, share):
        x = self.left + (k - self.low) / max(self.high - self.low, 1) * self.width
        return x, TOP + (1 - min(share, self.highest_share) / self.highest_share) * PANEL_HEIGHT

    def frame(self, title, below):
        parts = [text(self.left + self.width / 2, TOP - 16, title, extra=' font-weight="bold"')]
        for percent in range(0, round(100 * self.highest_share) + 1, 20):
            x, y = self.at(self.low, percent / 100)
            kind = "roof" if percent == 100 else "grid"
            parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{x + self.width:.1f}" y2="{y:.1f}"/>')
            parts.append(text(x - 8, y + 4, f"{percent} %", "end"))
        for k in range(self.low + -self.low % 2, self.high + 1, 4):
            parts.append(exponent(self.at(k, 0)[0], TOP + PANEL_HEIGHT + 20, k))
        parts.append(text(self.left + self.width / 2, TOP + PANEL_HEIGHT + 40, below))
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


def legend(entries, left=LEFT + 110, step=160):
    """Of names with what is drawn from the left to the right of a line at (x, y)."""
    parts = []
    for k, (name, drawn) in enumerate(entries):
        x, y = left + k * step, HEIGHT - 20
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


def shape_curves(rows, algorithm, pattern):
    """{(work, library): [(log2 length, share), ...]}, of the most elements that were measured."""
    rows = [row for row in rows if row["algorithm"] == algorithm and row["library"] in NAMES]
    most = max((row["n"] for row in rows), default=0)
    found = {}
    for row in rows:
        told = re.fullmatch(pattern, row["variant"])
        if told and row["n"] > most // 2:
            work, length = told.groups()
            found.setdefault((work, row["library"]), []).append((math.log2(int(length)), row["share_of_roof"]))
    return {key: sorted(points) for key, points in found.items()}


def draw_shapes(rows):
    parts, works = [], set()
    for place, (title, algorithm, pattern, below) in enumerate(SHAPES):
        found = shape_curves(rows, algorithm, pattern)
        if not found:
            sys.exit(f"plot.py: no {title} in the rows")
        lengths = [k for points in found.values() for k, _ in points]
        panel = Panel(place, math.floor(min(lengths)), math.ceil(max(lengths)), 1.2, 210)
        parts += panel.frame(title, below)
        for (work, library), points in found.items():
            works.add(work)
            at = [panel.at(*point) for point in points]
            parts.append(line(at, COLOURS[library], DASHES_OF_WORK[work]))
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{COLOURS[library]}"/>' for x, y in at]

    def entry(name, colour, dashes):
        return name, lambda x, y: [line([(x, y), (x + 34, y)], colour, dashes)]

    entries = [entry(f"Upsweep, {work.replace('-length encoding', ' lengths')}", COLOURS["upsweep"], dashes)
               for work, dashes in DASHES_OF_WORK.items() if work in works]
    entries.append(entry("CUB", COLOURS["cub"], "none"))
    return picture("Share of the roof against the length of rows, segments and runs, of 2^28 elements",
                   parts + legend(entries, LEFT + 40, 190))


def main():
    arguments = sys.argv[1:]
    draw, out = draw_folds, "docs/performance-gpu.svg"
    if "--histogram" in arguments:
        arguments.remove("--histogram")
        draw, out = draw_histograms, "docs/performance-histogram.svg"
    if "--shapes" in arguments:
        arguments.remove("--shapes")
        draw, out = draw_shapes, "docs/performance-shapes.svg"
    if arguments and arguments[-1].endswith(".svg"):
        out = arguments.pop()
    if not arguments:
        sys.exit(__doc__)
    rows = {}
    for name in arguments:
        with open(name, encoding="utf-8") as file:
            of_file = [json.loads(line_of_file) for line_of_file in file]
        replaced = {work_of(row) for row in of_file}
        rows = {key: row for key, row in rows.items() if work_of(row) not in replaced}
        rows |= {(name, k): row for k, row in enumerate(of_file)}
    with open(out, "w", encoding="utf-8") as file:
        file.write(draw(list(rows.values())))


def work_of(row):
    return row["algorithm"], row["type"], row["variant"], row.get("kind"), row["n"]


if __name__ == "__main__":
    main()
