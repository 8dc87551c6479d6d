#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Does the simulator miss a barrier or a fence that is missing?

Takes each barrier and each fence out of the laboratory's correct kernels, one at a time, builds the ladder and runs it
under some schedules. A mutant is killed when anything is found or an answer is wrong. Needs a build of the target
upsweep_lab_command with Ninja, and some minutes:

    cmake --build --preset release --target upsweep_lab_command && tests/lab/mutate.py
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab"
STATEMENT = re.compile(r"(?:__syncthreads|__syncwarp|__threadfence)\(\);")
LADDERS = ("reduce", "scan", "histogram")
BLOCKS = (64, 256)  # threads: some loops do not run in small blocks


def sites(ladder):
    """(line number, statement) of what can be taken out of a ladder's kernels."""
    lines = (LAB / f"{ladder}.cuh").read_text().splitlines()
    return [(number, found[0]) for number, line in enumerate(lines, 1) if (found := STATEMENT.search(line))]


def commands(build, ladder):
    """How the build compiles the ladder's kernels, and how it links the command."""
    entries = json.loads((build / "compile_commands.json").read_text())
    compiled = next(e for e in entries if pathlib.Path(e["file"]) == LAB / f"{ladder}.cu")
    steps = subprocess.run(["ninja", "-C", build, "-t", "commands", "upsweep_lab_command"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return shlex.split(compiled["command"]), steps[-1]


def reported(command, ladder, block, options):
    """What the laboratory says of a ladder, in a few words."""
    try:
        run = subprocess.run([command, "lab", "run", ladder, "--json", "--size", str(options.size), "--block", str(block),
                              "--schedules", str(options.schedules)], capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return ["no end"]
    if run.returncode not in (0, 1):
        return ["a crash"]
    rungs = json.loads(run.stdout)
    return sorted({finding["kind"] for rung in rungs for finding in rung["findings"]} |
                  {"a wrong answer" for rung in rungs if not rung["right"]})


def mutant(build, ladder, line, options):
    """What is reported of the ladder without that line's statement, or of the unchanged ladder for line 0."""
    compiled, link = commands(build, ladder)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(LAB, folder / "lab")
        header = folder / "lab" / f"{ladder}.cuh"
        lines = header.read_text().splitlines(keepends=True)
        if line:
            lines[line - 1] = STATEMENT.sub("(void)0;", lines[line - 1])
        header.write_text("".join(lines))

        kernels, command = folder / "kernels.o", folder / "upsweep-lab"
        compiled[compiled.index("-o") + 1] = str(kernels)
        compiled[compiled.index(str(LAB / f"{ladder}.cu"))] = str(folder / "lab" / f"{ladder}.cu")
        subprocess.run(compiled, cwd=build, check=True)
        # Ahead of the libraries, so that the linker does not look for the unchanged kernels there.
        link = re.sub(r" -o \S+", f" {kernels} -o {command}", link)
        subprocess.run(link, cwd=build, shell=True, check=True)

        for block in BLOCKS:
            if found := reported(command, ladder, block, options):
                return found
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=LAB.parent / "build", help="default: %(default)s")
    parser.add_argument("--schedules", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--size", type=int, default=600, help="elements (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="default: %(default)s")
    options = parser.parse_args()
    build = options.build.resolve()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for ladder, found in zip(LADDERS, pool.map(lambda ladder: mutant(build, ladder, 0, options), LADDERS)):
            if found:
                sys.exit(f"{ladder}: unchanged, yet the laboratory reports {', '.join(found)}")

        all_sites = [(ladder, *site) for ladder in LADDERS for site in sites(ladder)]
        results = pool.map(lambda site: mutant(build, site[0], site[1], options), all_sites)
        killed = 0
        for (ladder, line, statement), found in zip(all_sites, results):
            killed += bool(found)
            print(f"lab/{ladder}.cuh:{line}: without {statement} {', '.join(found) or 'SURVIVES'}", flush=True)
    print(f"{len(all_sites)} mutants, {killed} killed")


if __name__ == "__main__":
    main()
