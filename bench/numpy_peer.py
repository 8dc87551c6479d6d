# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Runs what the benchmark program asks for, a line at a time: `run STATEMENT`, `time CALLS STATEMENT` (answers the
milliseconds of one call) and `value EXPRESSION` (answers a number)."""
import sys
import time

import numpy as np

names = {"np": np}
print(np.__version__, flush=True)
for line in sys.stdin:
    verb, _, rest = line.strip().partition(" ")
    if verb == "run":
        exec(rest, names)
        print("done", flush=True)
    elif verb == "time":
        calls, _, statement = rest.partition(" ")
        code = compile(statement, "<benchmark>", "exec")
        start = time.perf_counter_ns()
        for _ in range(int(calls)):
            exec(code, names)
        print((time.perf_counter_ns() - start) / int(calls) * 1e-6, flush=True)
    elif verb == "value":
        print(repr(float(eval(rest, names))), flush=True)
