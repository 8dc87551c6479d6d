#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The main job on real data, for `./dev demo`: demo.py UPSWEEP ROOF, the two programs.

Runs every command that it shows, three times, and shows what the fastest run said. The share of the roof is its GB/s over
those of a program that does nothing but read memory, or copy it: ROOF measures them at the beginning.
"""
import array
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

upsweep, roof_program = sys.argv[1:]
data = pathlib.Path(__file__).parent / "data"
flights = data / "jfk-2013.csv"
book = data / "newton-opticks.txt"
large_count = 64 * 2**20


def styled(code, text):
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() else text


def heading(text):
    print("\n" + styled("1", text))


def share(gbps, kind):
    return f"{gbps:.2f} GB/s, {100 * gbps / roof[kind]:.0f} % of the {kind} roof"


def run(*arguments):
    """Shows a command and returns its outputs."""
    names = [argument.name if isinstance(argument, pathlib.Path) else argument for argument in arguments]
    print(styled("36", "$ upsweep " + shlex.join(name for name in names if name not in ("--json", "--verbose"))))
    command = [upsweep, *map(str, arguments)]
    return [subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout for _ in range(3)]


def measured(*arguments):
    """Shows a command and returns its result as JSON has it."""
    return min(map(json.loads, run(*arguments, "--json")), key=lambda result: result["seconds"])


def say(text, result, kind):
    print(f"{text}   {1e3 * result['seconds']:.1f} ms, {share(result['gbps'], kind)}")


def show_bars(*arguments):
    """Shows a histogram as the command draws it, with what it says below the bars put on one line."""
    def rate(report):
        return float(re.search(r"([0-9.]+) GB/s", report)[1])

    report = max(run(*arguments, "--verbose"), key=rate)
    bars, _, summary = report.partition("\ninput")
    facts = [re.split(r"  +", line, maxsplit=1) for line in summary.splitlines()[1:]]
    beside = [f"{name} {value}" for name, value in facts if name not in ("samples", "bytes", "time")]
    duration = dict(facts)["time"].split(",")[0]
    print(bars)
    print("   ".join([*beside, f"{duration}, {share(rate(report), 'read')}"]))


def columns(values, width, height):
    """A column chart: lines of text, the highest first."""
    blocks = " ▁▂▃▄▅▆▇█" if sys.stdout.encoding.lower().startswith("utf") else " .:-=+*#@"
    picked = [values[(k + 1) * len(values) // width - 1] for k in range(width)]
    for row in reversed(range(height)):
        eighths = (round(8 * (height * value / max(picked) - row)) for value in picked)
        yield "".join(blocks[min(max(k, 0), 8)] for k in eighths)


def show_running_sum(width=70, height=4):
    result = measured("scan", "--dtype", "i32", "--column", "delay", flights)
    sums = result["values"]
    chart = list(columns(sums, width, height))
    chart[0] += f" {sums[-1]:,}"
    print("\n".join(chart))

    months = [int(line.split(",")[0]) for line in flights.read_text().splitlines()[1:]]
    axis = ""
    for month, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1):
        axis = axis.ljust(width * months.index(month) // len(months)) + name
    print(axis)
    say("sum up to every flight", result, "copy")


def write_large_array(path):
    """The delays over and over, as an array of f32 in NumPy's format."""
    delays = array.array("f", (float(line.split(",")[2]) for line in flights.read_text().splitlines()[1:]))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({large_count},), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.write((delays * (large_count // len(delays) + 1))[:large_count])


roof = json.loads(subprocess.run([roof_program], check=True, stdout=subprocess.PIPE).stdout)
print(f"Memory of this machine: {roof['read']} GB/s read, {roof['copy']} GB/s copied. That is the roof.")

heading(f"Every departure from New York JFK in 2013: a table of {flights.stat().st_size / 1e6:.2f} MB")
total = measured("reduce", "--dtype", "i32", "--column", "delay", flights)
say(f"{total['result']:,} minutes late", total, "read")
show_running_sum()
show_bars("histogram", "--column", "delay", "--bins", "7", "--range=-20:120", flights)

heading(f"Isaac Newton's Opticks: a text of {book.stat().st_size / 1e6:.2f} MB")
show_bars("histogram", "--text", book)

with tempfile.TemporaryDirectory(prefix="upsweep-demo-") as folder:
    delays = pathlib.Path(folder) / "delays.npy"
    sums = pathlib.Path(folder) / "sums.npy"
    write_large_array(delays)
    heading(f"Enough to keep the memory busy: the delays over and over, {large_count:,} numbers")
    result = measured("reduce", delays)
    say(f"sum {result['result']:.0f}", result, "read")
    result = measured("histogram", "--bins", "256", "--range=-60:1400", delays)
    say(f"fullest bin {max(result['counts']):,}", result, "read")
    result = measured("scan", delays, "-o", sums)
    start = time.perf_counter()
    subprocess.run(["cp", delays, sums], check=True)
    say(f"a new file (cp takes {1e3 * (time.perf_counter() - start):.0f} ms)", result, "copy")
