#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every source that a build compiles, each once.

usage: lint.py BUILD     BUILD holds compile_commands.json

clang-tidy looks at all that a translation unit includes, and most of that is the standard library and GoogleTest. So sources
that are read alike, by the compiler and by clang-tidy, are checked as one unit that includes them. What was clean stays known in
~/.cache/upsweep/lint by the contents of the sources, of the headers of the project, and of the settings.
"""

import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "upsweep" / "lint"
TIDY = "clang-tidy"
MOST = 18  # sources in a unit, so that two cores have work

# Those that define the same names as others cannot share a unit with them.
ALONE = {"lab/reduce.cu", "lab/scan.cu", "lab/segments.cu", "lab/keys.cu", "lab/image.cu", "simulator/src/device.cpp",
         "tests/fuzz/fuzz_shapes.cpp"}
# The element types of libupsweep share one source: f32 stands for all. Units are C++.
SKIPPED = ("examples/c_abi.c", "runtime/dtypes/")
KEPT = {"runtime/dtypes/f32.cpp"}
# Every program defines these.
ENTRIES = ("main", "LLVMFuzzerTestOneInput")
# GoogleTest makes tests of the first type of a list alone: of the others, clang-tidy would see the same sources once more.
FIRST_TYPE = """\
#include <gtest/gtest.h>
template <class First, class... Others>
struct testing::internal::GenerateTypeList<testing::Types<First, Others...>> {
    using type = testing::internal::Types<First>;
};
"""


def flags_of(command):
    """Where a compilation finds headers and what it defines; and what else decides how it reads a source."""
    places, dialect = [], []
    words = iter(shlex.split(command)[1:])
    for word in words:
        if word.startswith(("-I", "-D")):
            places.append((word,))
        elif word in ("-isystem", "-idirafter"):
            places.append((word, next(words)))
        elif word == "-include":
            dialect += word, next(words)
        elif word.startswith(("-std=", "-march=", "-W")):
            dialect.append(word)
        elif word in ("-o", "-c", "-MF", "-MT", "-x", "-mllvm"):
            next(words)
    return places, dialect


def units(build):
    """Lists of sources with the flags of each list."""
    alike = {}
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT) or path.is_relative_to(build):
            continue
        source = str(path.relative_to(ROOT))
        if source in seen or (source.startswith(SKIPPED) and source not in KEPT):
            continue
        seen.add(source)
        places, dialect = flags_of(entry["command"])
        key = settings_of(source)[0], tuple(dialect), source if source in ALONE else ""
        sources, all_places = alike.setdefault(key, ([], {}))
        sources.append(source)
        all_places.update(dict.fromkeys(places))  # in the order in which they came
    for (_, dialect, _), (sources, all_places) in alike.items():
        flags = [*itertools.chain(*all_places), *dialect]
        parts = -(-len(sources) // MOST)
        for part in range(parts):
            yield sorted(sources)[part::parts], flags


def text_of(sources, flags):
    """What a unit is: it includes the sources, whose entries have names of their own."""
    text = FIRST_TYPE if "-DGTEST_HAS_PTHREAD=1" in flags else ""
    for number, source in enumerate(sources):
        text += "".join(f"#undef {entry}\n#define {entry} {entry}_{number}\n" for entry in ENTRIES)
        text += f'#include "{source}"\n'
    return text


def settings_of(source):
    """The nearest .clang-tidy, and all that it may inherit from."""
    if source == "examples/gpu.cu":
        source = "runtime/gpu/engine.cu"  # which includes the same kernels
    folders = [folder for folder in (ROOT / source).parents if folder.is_relative_to(ROOT)]
    files = [folder / ".clang-tidy" for folder in folders if (folder / ".clang-tidy").exists()]
    return files[0], files


def fingerprint(unit, flags, settings, version):
    """Of all that decides what clang-tidy says about the unit."""
    listed = subprocess.run(["clang++", *flags, "-MM", unit], capture_output=True, text=True, check=True).stdout
    files = sorted({pathlib.Path(word).resolve() for word in listed.replace("\\\n", " ").split()[1:]})
    digest = hashlib.sha256("\0".join([version, *flags]).replace(str(ROOT), "").encode())
    for file in [*files, *settings]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def check(unit, sources, flags, version):
    """What clang-tidy has to say about sources that are one unit, or nothing."""
    nearest, settings = settings_of(sources[0])
    unit.write_text(text_of(sources, flags))
    flags = [*flags, "-Wno-return-type", f"-I{ROOT}"]  # only a main may return nothing
    known = CACHE / fingerprint(unit, flags, settings, version)
    if known.exists():
        return ""
    # A unit includes sources, which clang-tidy finds suspicious.
    command = [TIDY, "--quiet", f"--config-file={nearest}", "--checks=-bugprone-suspicious-include", unit, "--", *flags]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if checked.returncode == 0:
        known.touch()
        return ""
    if "[clang-diagnostic-" in checked.stdout and len(sources) > 1:  # both define a name, say
        half = len(sources) // 2
        return check(unit, sources[:half], flags, version) + check(unit, sources[half:], flags, version)
    return checked.stdout + checked.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    folder = build / "units"
    folder.mkdir(exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout

    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = {}
        # The largest come first, so that the cores end together.
        for number, (sources, flags) in enumerate(sorted(units(build), key=lambda unit: -len(unit[0]))):
            unit = folder / f"{number}.cpp"
            checks[pool.submit(check, unit, sources, flags, version)] = sources
        for done, running in enumerate(concurrent.futures.as_completed(checks), 1):
            complaint = running.result()
            print(f"[{done}/{len(checks)}] {' '.join(checks[running])}", flush=True)
            if complaint:
                print(complaint, flush=True)
                failed = True
    if not checks:
        sys.exit(f"{build} has no sources to check")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
