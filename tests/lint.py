#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every source that a build compiles, each once.

usage: lint.py BUILD     BUILD holds compile_commands.json

clang-tidy looks at all that a translation unit includes, and most of that is the standard library and GoogleTest. So the
sources of a folder that are compiled alike are checked as one unit that includes them. What was clean stays known in
~/.cache/upsweep/lint by the contents of the sources, of the headers of the project, and of the settings.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "upsweep" / "lint"
TIDY = "clang-tidy"
MOST = 8  # sources in a unit, so that all cores have work

# Two that define the same names cannot share a unit.
ALONE = {
    "simulator/src/collectives.cpp",
    "simulator/src/hooks_atomic.cpp",
    "simulator/src/runtime.cpp",
    "tests/errors.cpp",
    "tests/ranges.cpp",
    "tests/simulator/clusters_test.cu",
    "tests/simulator/transfers_test.cu",
}
# The element types of libupsweep share one source: f32 stands for all. The GPU's kernels, and the tests of the laboratory, are not
# clean yet.
SKIPPED = ("runtime/dtypes/", "runtime/gpu/", "tests/gpu/", "tests/lab/", "tests/runtime/")
KEPT = {"runtime/dtypes/f32.cpp"}


def flags_of(command):
    """The flags of a compilation that do not say what is compiled to what."""
    flags = []
    words = iter(shlex.split(command)[1:])
    for word in words:
        if word in ("-o", "-c", "-MF", "-MT", "-x"):
            next(words)
        elif word != "-MD":
            flags.append(word)
    return [flag for flag in flags if not flag.endswith("/clang++")]


def units(build):
    """Lists of sources with the flags of each list."""
    alike = {}
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT) or path.is_relative_to(build.parent):
            continue
        source = str(path.relative_to(ROOT))
        if source in seen or (source.startswith(SKIPPED) and source not in KEPT):
            continue
        seen.add(source)
        has_main = b"\nint main(" in path.read_bytes()
        apart = source if source in ALONE or has_main else ""
        alike.setdefault((path.parent, tuple(flags_of(entry["command"])), apart), []).append(source)
    for (_, flags, _), sources in alike.items():
        parts = -(-len(sources) // MOST)
        for part in range(parts):
            yield sorted(sources)[part::parts], list(flags)


def settings_of(source):
    """The nearest .clang-tidy, and all that it may inherit from."""
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
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    flags = [*flags, f"-I{ROOT}"]
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
        return "".join(check(unit, [source], flags, version) for source in sources)
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
        # The tests take longest, so that they come first.
        for number, (sources, flags) in enumerate(sorted(units(build), key=lambda unit: not unit[0][0].startswith("tests/"))):
            unit = folder / f"{number}.cpp"
            checks[pool.submit(check, unit, sources, flags, version)] = sources
        for done, running in enumerate(concurrent.futures.as_completed(checks), 1):
            complaint = running.result()
            print(f"[{done}/{len(checks)}] {' '.join(checks[running])}", flush=True)
            if complaint:
                print(complaint, flush=True)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
