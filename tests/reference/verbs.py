# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the bits of the C++ verbs, which the program verbs.cpp carries out, with those of verb_order.py, the independent reference.

    python3 verbs.py build/tests/upsweep_verb_bits [--seed N] [--only REGEX]

The inputs are new in every run; a failure names the seed that replays it.
"""
import argparse
import re
import subprocess

import numpy as np

import verb_order as order
from fold_order import STORAGE, convert, fold, folds

LENGTHS = (1, 2, 3, 7, 8, 9, 31, 100, 255, 257, 1000, 4097, 70001)
SHAPES = [(1, n, 1) for n in LENGTHS] + [(1, 1000, 5), (3, 257, 1), (2, 33, 70), (40, 17, 1), (1, 20000, 3), (9, 600, 2)]
failures = []


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, verb, sizes, arrays, results, threads):
        """`results`: the type and the shape of each."""
        self.process.stdin.write(f"{verb} {threads} {' '.join(map(str, sizes))}\n".encode())
        for array in arrays:
            self.process.stdin.write(np.ascontiguousarray(array).tobytes())
        self.process.stdin.flush()
        answer = []
        for dtype, shape in results:
            bytes_wanted = int(np.prod(shape)) * np.dtype(dtype).itemsize
            data = self.process.stdout.read(bytes_wanted)
            if len(data) != bytes_wanted:
                raise SystemExit(f"{verb}: the program ended")
            answer.append(np.frombuffer(data, dtype).reshape(shape))
        return answer


def compare(what, got, expected):
    unsigned = f"u{got.dtype.itemsize}"
    expected = np.ascontiguousarray(expected.astype(got.dtype))
    if expected.dtype.kind == "f":  # NaN has one pattern
        expected = np.where(np.isnan(expected), expected.dtype.type(np.nan), expected)
    wrong = np.flatnonzero(got.ravel().view(unsigned) != expected.ravel().view(unsigned))
    if len(wrong):
        i = wrong[0]
        failures.append(f"{what}: {len(wrong)} of {got.size} differ, first at {i}: {got.ravel()[i]!r} instead of "
                        f"{expected.ravel()[i]!r}")
        print(f"FAIL  {failures[-1]}", flush=True)


def numbers(rng, dtype, n):
    """Magnitudes over many binades, both signs."""
    return (rng.choice([-1, 1], n) * np.exp2(rng.uniform(-20, 20, n))).astype(STORAGE[dtype])


def positions(program, rng, threads):
    """Minima and maxima among many that are equal."""
    for dtype in ("f32", "f64", "i8"):
        for n in LENGTHS:
            if dtype == "i8":
                x = rng.integers(-3, 4, n).astype(np.int8)
            else:
                x = rng.choice([-0.0, 0.0, 0.0, np.inf, -np.inf] if n % 2 else [-0.0, 0.0, 2.0, 1.0], n).astype(STORAGE[dtype])
                if n % 5 == 0:
                    x[rng.integers(n)] = np.nan
            got, = program(f"positions {dtype}", [n], [x], [(np.uint64, 2)], threads())
            compare(f"positions {dtype} {n}", got, np.array([order.argument(x), order.argument(x, True)], np.uint64))


def recurrences(program, rng, threads):
    """States and gradients of lines, forward and backward."""
    for verb, dtype in (("forward", "f32"), ("backward", "f32"), ("forward", "f64"), ("forward", "bf16")):
        for shape in SHAPES:
            outer, length, inner = shape
            wide = "f32" if dtype == "bf16" else dtype
            a = rng.uniform(-1.1, 1.1, shape).astype(STORAGE[wide])
            a[rng.random(shape) < 0.01] = 0
            b, before = numbers(rng, wide, shape), numbers(rng, wide, (outer, inner))
            if length > 200 and rng.random() < 0.4:
                a[rng.random(shape) < 0.2] *= 1e20
                b[rng.random(shape) < 0.01] = np.inf
            arrays = [convert(x, wide, dtype) for x in (a, b, before)]
            h, of_a, of_b, of_before = program(
                f"{verb} {dtype}", shape, arrays,
                [(STORAGE[dtype], shape)] * 3 + [(STORAGE[dtype], (outer, inner))], threads())
            a, b, before, h_wide = (convert(x, dtype, wide) for x in (*arrays, h))
            expected = [np.empty_like(x) for x in (a, a, a, before)]
            step = -1 if verb == "backward" else 1
            for i in np.ndindex(outer, inner):
                at = (i[0], slice(None), i[1])
                expected[0][at] = order.linear_recurrence(a[at][::step], b[at][::step], before[i])[::step]
                line_a, line_b, first = order.linear_recurrence_gradient(a[at][::step], h_wide[at][::step], b[at][::step],
                                                                         before[i])
                expected[1][at], expected[2][at], expected[3][i] = line_a[::step], line_b[::step], first[0]
            for name, got, wanted in zip(("h", "a", "b", "before"), (h, of_a, of_b, of_before), expected):
                if dtype == "bf16":
                    compare(f"{verb} {dtype} {shape} {name}", got, convert(wanted, wide, dtype))
                else:
                    compare(f"{verb} {dtype} {shape} {name}", got, wanted)


def rectangles(program, rng, threads):
    """Integral images of elements and squares, and queries on them."""
    for rows, columns in ((1, 1), (37, 50), (200, 1100), (3000, 2)):
        x = numbers(rng, "f32", (rows, columns))
        ends = [np.sort(rng.integers(0, n + 1, (300, 2)), 1) for n in (rows, columns)]
        boxes = np.stack([ends[0][:, 0], ends[1][:, 0], ends[0][:, 1], ends[1][:, 1]], 1)
        got = program("rectangles f32", [rows, columns, len(boxes)], [x, boxes],
                      [(np.float32, x.shape), (np.float64, x.shape), (np.float32, 300), (np.float64, 300)], threads())
        sums = order.integral_image(x)
        squares = order.integral_image(x.astype(np.float64) * x.astype(np.float64))
        expected = (sums, squares, order.rectangle_sums(sums, boxes), order.rectangle_variances(sums, squares, boxes))
        for name, result, wanted in zip(("sums", "squares", "rectangles", "variances"), got, expected):
            compare(f"{name} of {rows} x {columns}", result, wanted)


def operators(program, rng, threads):
    """Scans and reductions by the ready operators."""
    for n in LENGTHS:
        for dtype in ("f32", "f64"):
            x = rng.uniform(-50, 50, n).astype(STORAGE[dtype])
            x[rng.random(n) < 0.1] = -np.inf
            got, = program(f"log_sum_exp {dtype}", [n], [x], [(x.dtype, n)], threads())
            compare(f"log_sum_exp {dtype} {n}", got, folds(x, order.log_sum_exp))
        x = numbers(rng, "f32", n)
        got, = program("moments f32", [n], [x], [(np.float64, 3)], threads())
        compare(f"moments {n}", got, fold(order.moments_of(x), order.merged_moments)[0])
        got, = program("differences f32", [n], [x], [(np.float32, n)], threads())
        compare(f"differences {n}", got, np.concatenate([x[:1], x[1:] - x[:-1]]))
        x[rng.random(n) < 0.5] = np.nan
        got, = program("last_valid f32", [n], [x], [(np.float32, n)], threads())
        compare(f"last_valid {n}", got, folds(x, order.last_valid))
        maps = np.stack([rng.uniform(-5, 4, n), rng.choice([-np.inf, 0, 3], n)], 1).astype(np.float32)
        got, = program("max_plus f32", [n], [maps], [(np.float32, (n, 2))], threads())
        compare(f"max_plus {n}", got, folds(maps, order.max_plus))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--seed", type=int, default=np.random.SeedSequence().entropy % (1 << 32))
    arguments.add_argument("--only", default="", help="the checks whose name matches this regular expression")
    options = arguments.parse_args()
    print(f"seed {options.seed}")
    program = Program(options.program)
    for check in (positions, recurrences, rectangles, operators):
        if re.search(options.only, check.__name__):
            rng = np.random.default_rng([options.seed, *check.__name__.encode()])
            before = len(failures)
            check(program, rng, lambda: rng.choice([1, 2, 3, 8]))
            print(f"{'ok  ' if len(failures) == before else 'FAIL'}  {check.__name__}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
