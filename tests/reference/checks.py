# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""How the checks of this folder run: against which libraries, from which seed, and what happens when one fails."""
import argparse
import contextlib
import re
import time

import numpy as np

import library

failures = []


class Mismatch(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Mismatch(what)


@contextlib.contextmanager
def case():
    """A mismatch inside ends the case, not the run."""
    try:
        yield
    except Mismatch as mismatch:
        failures.append(str(mismatch))
        if len(failures) <= 50:
            print(f"FAIL  {mismatch}", flush=True)


@case()
def refused(lib, what, status, expected_status, out, *words):
    """The call has failed with this status and a message with these words, and has written nothing."""
    message = lib.message()
    require(status == expected_status, f"{lib.isa} {what}: status {status}, expected {expected_status}")
    require(all(word in message for word in words), f"{lib.isa} {what}: {words} missing in '{message}'")
    require(out.untouched(), f"{lib.isa} {what}: wrote something")


types = ""


def takes(dtype):
    """Whether checks of every type take this one: --types."""
    return re.search(types, dtype) is not None


def run(description, checks):
    """Calls check(libraries, rng) for each of the checks; the exit status of the script."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("libraries", nargs="+", metavar="libupsweep.so")
    arguments.add_argument("--seed", type=int, default=np.random.SeedSequence().entropy % (1 << 32))
    arguments.add_argument("--only", default="", help="the checks whose name matches this regular expression")
    arguments.add_argument("--types", default="", help="where a check takes every type, those that match this regular expression")
    options = arguments.parse_args()
    global types
    types = options.types
    libs = [lib for path in options.libraries for lib in library.variants(path)]
    if len({lib.isa for lib in libs}) != len(libs):
        raise SystemExit("two libraries for one instruction set")
    print(f"seed {options.seed}; instruction sets {', '.join(lib.isa for lib in libs)}")
    for check in checks:
        if not re.search(options.only, check.__name__):
            continue
        begin, before = time.monotonic(), len(failures)
        # Seeded by the check's name too, so that --only replays it alone.
        check(libs, np.random.default_rng([options.seed, *check.__name__.encode()]))
        failed = len(failures) - before
        print(f"{f'FAIL  {check.__name__}: {failed} cases' if failed else f'ok    {check.__name__}'} "
              f"({time.monotonic() - begin:.1f} s)", flush=True)
        if failed:
            print(f"      replay: --seed {options.seed} --only {check.__name__}", flush=True)
    return 1 if failures else 0
