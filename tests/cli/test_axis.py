# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep reduce and scan --axis: every line to the bit, shapes, integers that wrap, and what has no axis."""
import os
import unittest

import numpy as np
from command import CommandTest, fold_order
from test_npy import DTYPES, samples
from test_reduce import NAMES


def lines_along(array, axis, f):
    """f of each line along an axis."""
    return np.apply_along_axis(lambda line: f(np.ascontiguousarray(line)), axis, array)


class Axis(CommandTest):
    def folded(self, command, *arguments):
        self.output(command, *arguments, "-o", "out.npy")
        return np.load(self.path("out.npy"))

    def same(self, actual, expected):
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(np.ascontiguousarray(actual).view("u1"), np.ascontiguousarray(expected).view("u1"))

    def test_every_type(self):
        for k, (dtype, code) in enumerate(DTYPES.items()):
            array = samples(code, 7 * 5 * 11).reshape(7, 5, 11)
            if np.dtype(code).kind == "f":
                array = (np.sign(array) * (1 + np.abs(array) % 2**-4)).astype(code)
            axis, names = k % 3, list(NAMES)
            self.write("a.npy", array if k % 2 else np.asfortranarray(array))
            for name in names[k % 3::3]:
                op = NAMES[name]
                if not fold_order.supported(op, dtype):
                    self.assert_fails(1, "reduce", "--axis", "1", "--op", name, "a.npy", tells=["a.npy: ", op, dtype])
                    continue
                with self.subTest(dtype=dtype, op=name, axis=axis):
                    target = fold_order.reduce_dtype(op, dtype)
                    arguments = ["--wrap", "--op", name, "--axis", str(axis), "a.npy"]
                    self.same(self.folded("reduce", *arguments), lines_along(array, axis, lambda x: fold_order.reduce(x, op, dtype)[0]))
                    self.same(self.folded("scan", *arguments), lines_along(array, axis, lambda x: fold_order.scan(x, op, dtype, target)))

    def test_axes_and_shapes(self):
        array = samples("f4", 4 * 3 * 2).reshape(4, 3, 2)
        self.write("a.npy", array)
        for axis, number in ((0, "0"), (1, "1"), (2, "2"), (2, "-1"), (0, "-3")):
            expected = lines_along(array, axis, lambda x: fold_order.reduce(x, "plus", "f32")[0])
            self.same(self.folded("reduce", "--axis", number, "a.npy"), expected)
            printed = self.output("reduce", "--axis", number, "a.npy").split()
            np.testing.assert_array_equal(np.array(printed, "f4"), expected.ravel())
            expected = lines_along(array, axis, lambda x: fold_order.scan(x, "maximum", "f32", "f32", True))
            self.same(self.folded("scan", "--exclusive", "--op", "max", "--axis", number, "a.npy"), expected)
        for axis in ("3", "-4"):
            self.assert_fails(1, "reduce", "--axis", axis, "a.npy", tells=["a.npy: ", f"no axis {axis} of 3 dimensions", "0 to 2"])
        for axis in ("x", "1.5", "1,2"):
            self.assert_fails(2, "scan", "--axis", axis, "a.npy", tells=["--axis: ", axis])
        deep = array.reshape((1,) * 13 + (4, 3) + (1,) * 13 + (2,) + (1,) * 3)  # whose header is long
        self.write("deep.npy", deep)
        self.same(self.folded("scan", "--axis", "13", "deep.npy"),
                  lines_along(array, 0, lambda x: fold_order.scan(x, "plus", "f32")).reshape(deep.shape))
        self.write("empty.npy", np.zeros((0, 3), "f4"))
        self.same(self.folded("reduce", "--axis", "0", "empty.npy"), np.zeros(3, "f4"))
        self.same(self.folded("scan", "--axis", "0", "empty.npy"), np.zeros((0, 3), "f4"))
        self.same(self.folded("reduce", "--axis", "1", "empty.npy"), np.zeros(0, "f4"))
        self.assert_fails(1, "reduce", "--op", "min", "--axis", "0", "empty.npy", tells=["empty.npy: ", "no elements"])

    def test_what_has_no_axis(self):
        self.write("a.npy", np.zeros((2, 2)))
        self.write("scalar.npy", np.array(5.0))
        self.write("a.csv", "x,y\n1,2\n")
        self.write("a.f32", b"1234")
        for command in ("reduce", "scan"):
            for file in ("a.csv", "a.f32"):
                extra = ["--column", "x"] if file == "a.csv" else []
                self.assert_fails(1, command, "--axis", "0", *extra, file, tells=[file + ": ", "np.save", "leave out --axis"])
            self.assert_fails(1, command, "--axis", "0", "-", stdin="1 2 3", tells="standard input: ")
            self.assert_fails(1, command, "--axis", "0", "scalar.npy", tells=["scalar.npy: ", "leave out --axis"])
            self.assert_fails(1, command, "--axis", "0", "a.npy", "a.npy", tells=["one array", "np.concatenate"])
            self.assert_fails(1, command, "--axis", "0", "--target", "cuda", "a.npy", tells="--target cuda")

    def test_means(self):
        for code in ("u1", "i8", "u8", "f2", "f4", "f8", "?"):
            array = samples(code, 300).reshape(20, 15)
            if code in ("i8", "u8"):
                array //= 2**20
            self.write("a.npy", array)
            dtype = {value: key for key, value in DTYPES.items()}.get(code, "bool")
            kind = "f4" if code in ("f2", "f4") else "f8"
            sums = lines_along(array, 1, lambda x: fold_order.reduce(x, "plus", dtype)[0]).astype(kind)
            self.same(self.folded("reduce", "--op", "mean", "--axis", "1", "a.npy"), sums / np.array(15, kind))
        self.write("f.npy", np.array([[1e8, 1], [1, 1]], "f4"))
        self.assertEqual(self.output("reduce", "--op", "mean", "--axis", "0", "--out-dtype", "f64", "f.npy"), "50000000.5\n1\n")
        self.assert_fails(2, "reduce", "--op", "mean", "f.npy", tells="'mean' is unknown")

    def test_integers_that_wrap(self):
        big = 2**62
        array = np.array([[big, big, -big], [big, -big, 5], [1, 2, 3]])
        self.write("a.npy", array)
        self.assert_fails(1, "reduce", "--axis", "0", "a.npy", tells=["a.npy: the sum at [0] is 9223372036854775809", "does not fit i64", "--wrap"])
        self.same(self.folded("reduce", "--axis", "0", "--wrap", "a.npy"), array.sum(0))
        self.assert_fails(1, "reduce", "--axis", "1", "--out-dtype", "i32", "a.npy", tells=["the sum at [0] is 4611686018427387904", "i32"])
        self.same(self.folded("reduce", "--axis", "1", "a.npy"), array.sum(1))
        self.assert_fails(1, "reduce", "--op", "mean", "--axis", "0", "a.npy", tells="the sum at [0]")
        self.assert_fails(1, "reduce", "--op", "product", "--axis", "0", "a.npy", tells=["a.npy: products", "--wrap", "f64"])
        self.same(self.folded("reduce", "--op", "product", "--axis", "0", "--out-dtype", "f64", "a.npy"), array.astype("f8").prod(0))
        self.assert_fails(1, "scan", "--axis", "0", "a.npy", "-o", "none.npy",
                          tells=["a.npy: line 0 along axis 0: element 1, counted from 0: the running sum does not fit i64", "--wrap"])
        self.assertFalse(os.path.exists(self.path("none.npy")))
        self.assert_fails(1, "scan", "--axis", "1", "--init", str(big), "a.npy", tells="line 0 along axis 1: element 0")
        self.same(self.folded("scan", "--axis", "1", "--out-dtype", "i8", "--wrap", "a.npy"), array.cumsum(1).astype("i1"))
        self.assert_fails(1, "scan", "--axis", "1", "--op", "max", "--out-dtype", "i8", "a.npy", tells=["a.npy: element 0", "does not fit i8"])
        unsigned = np.array([[2**63, 1], [2**63 - 1, 2]], "u8")
        self.write("u.npy", unsigned)
        self.same(self.folded("reduce", "--axis", "0", "u.npy"), unsigned.sum(0))
        self.assertEqual(self.output("reduce", "--axis", "0", "--op", "product", "--wrap", "u.npy"), f"{2**63}\n2\n")
        self.same(self.folded("scan", "--op", "product", "--axis", "1", "u.npy"), unsigned.cumprod(1))
        small = samples("i1", 600).reshape(2, 300)
        self.write("s.npy", small)
        self.same(self.folded("reduce", "--axis", "1", "--out-dtype", "i16", "s.npy"), small.sum(1, dtype="i2"))

    def test_what_is_printed(self):
        self.write("a.npy", np.array([[1, 2], [3, 4]], "u1"))
        result = self.json("reduce", "--axis", "0", "a.npy")
        self.assertEqual(list(result), ["command", "op", "files", "dtype", "shape", "axis", "result_dtype", "result_shape", "results", "count",
                                        "seconds", "bytes", "gbps"])
        self.assertEqual((result["results"], result["shape"], result["result_shape"], result["count"]), ([4, 6], [2, 2], [2], 4))
        self.assertEqual(self.json("reduce", "--axis", "-1", "--op", "mean", "a.npy")["results"], [1.5, 3.5])
        result = self.json("reduce", "--axis", "0", "a.npy", "-o", "o.txt")
        self.assertEqual((result["output"], "results" in result), ("o.txt", False))
        with open(self.path("o.txt")) as file:
            self.assertEqual(file.read(), "4\n6\n")
        result = self.json("scan", "--axis", "0", "a.npy")
        self.assertEqual((result["values"], result["shape"], result["axis"]), ([1, 2, 4, 6], [2, 2], 0))
        table = dict(line.split(None, 1) for line in self.output("reduce", "-v", "--axis", "0", "a.npy", "-o", "o.npy").splitlines())
        self.assertEqual((table["output"], table["type"], table["elements"], table["results"]), ("o.npy", "u64", "4 x u8", "2"))


if __name__ == "__main__":
    unittest.main()
