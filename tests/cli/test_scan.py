# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep scan: values to the bit, inclusive and exclusive, of every kind of input."""
import unittest

import numpy as np
from command import CommandTest, fold_order
from test_npy import DTYPES, samples
from test_reduce import NAMES


def lines(text):
    return text.split("\n")[:-1]


class Scan(CommandTest):
    def scanned(self, *arguments, **keywords):
        self.output("scan", *arguments, "-o", "out.npy", **keywords)
        return np.load(self.path("out.npy"))

    def test_every_operator_and_type(self):
        for dtype, code in DTYPES.items():
            array = samples(code, 5003)
            if np.dtype(code).kind == "f":
                array = (np.sign(array) * (1 + np.abs(array) % 2**-4)).astype(code)
            self.write("a.npy", array)
            for name, op in NAMES.items():
                if not fold_order.supported(op, dtype):
                    self.assert_fails(1, "scan", "--op", name, "a.npy", tells=["a.npy: ", op, dtype])
                    continue
                target = fold_order.reduce_dtype(op, dtype)
                for exclusive in (False, True):
                    with self.subTest(dtype=dtype, op=name, exclusive=exclusive):
                        expected = fold_order.scan(array, op, dtype, target, exclusive)
                        actual = self.scanned("--op", name, *["--exclusive"][:exclusive], "a.npy")
                        self.assertEqual(actual.dtype, expected.dtype)
                        np.testing.assert_array_equal(actual.view("u1"), expected.view("u1"))

    def test_large_and_in_pieces(self):
        array = samples("f4", 3_500_003)
        expected = fold_order.scan(array, "plus", "f32", "f32").view("u4")
        self.write("a.npy", array)
        self.write("swapped.npy", array.astype(">f4"))
        self.write("a.raw", array.tobytes())
        self.write("1.npy", array[:1_000_001])
        self.write("2.npy", array[1_000_001:])
        for arguments in (["a.npy"], ["a.npy", "--threads", "1"], ["a.npy", "--threads", "5"], ["swapped.npy"],
                          ["a.raw", "--dtype", "f32"], ["1.npy", "2.npy"]):
            np.testing.assert_array_equal(self.scanned(*arguments).view("u4"), expected, str(arguments))
        for arguments, stdin in ((["--dtype", "f32", "--format", "raw"], array.tobytes()),
                                 (["--dtype", "f32"], "\n".join(map(str, array)))):
            np.testing.assert_array_equal(self.scanned(*arguments, "-", stdin=stdin).view("u4"), expected, str(arguments))

    def test_init(self):
        self.assertEqual(lines(self.output("scan", "--init", "10", "-", stdin="1 2 3")), ["11", "13", "16"])
        self.assertEqual(lines(self.output("scan", "--init", "-10", "--exclusive", "-", stdin="1 2 3")), ["-10", "-9", "-7"])
        self.write("a.npy", samples("f4", 1000))
        init = np.array([0.1], "f4")
        expected = fold_order.scan(np.load(self.path("a.npy")), "plus", "f32", "f32", True, init)
        np.testing.assert_array_equal(self.scanned("--init", "0.1", "--exclusive", "a.npy").view("u4"), expected.view("u4"))
        for bad, tells in (("x", "is not a number"), ("300", "does not fit u8"), ("1.5", "not an integer")):
            self.assert_fails(2, "scan", "--init", bad, "--op", "max", "--dtype", "u8", "-", stdin="1", tells=["--init: ", tells])

    def test_exclusive_begins_with_the_identity(self):
        for op, dtype, first in (("sum", "f64", "0"), ("product", "i64", "1"), ("min", "u8", "255"), ("max", "i8", "-128"),
                                 ("and", "u16", "65535"), ("min", "f32", "inf"), ("all", "i32", "true"), ("any", "i32", "false")):
            values = lines(self.output("scan", "--exclusive", "--op", op, "--dtype", dtype, "-", stdin="1 1"))
            self.assertEqual((values[0], len(values)), (first, 2), (op, dtype))

    def test_out_dtype(self):
        self.write("a.npy", np.full(300, 100, "i1"))
        self.assertEqual(self.scanned("a.npy").dtype, np.dtype("i8"))
        self.assertEqual(self.scanned("a.npy")[-1], 30_000)
        for name, code in (("i8", "i1"), ("i32", "i4"), ("f32", "f4"), ("u16", "u2")):
            actual = self.scanned("--out-dtype", name, "a.npy")
            self.assertEqual(actual.dtype, np.dtype(code))
            np.testing.assert_array_equal(actual, np.cumsum(np.full(300, 100), dtype="i8").astype(code))
        self.write("f.npy", samples("f2", 1000))
        self.assertEqual(self.scanned("f.npy").dtype, np.dtype("f4"))
        self.assertEqual(self.scanned("--out-dtype", "f16", "f.npy").dtype, np.dtype("f2"))

    def test_several_dimensions_become_one(self):
        array = np.arange(24, dtype="i4").reshape(2, 3, 4)
        self.write("a.npy", array)
        np.testing.assert_array_equal(self.scanned("a.npy"), np.cumsum(array))

    def test_text_output(self):
        self.assertEqual(self.output("scan", "-", stdin="0.1 0.2 0.3"), "0.1\n0.30000000000000004\n0.6000000000000001\n")
        self.assertEqual(self.output("scan", "-", "-o", "-", stdin="1 nan -inf"), "1\nnan\nnan\n")
        self.output("scan", "--dtype", "i64", "-", "-o", "out.txt", stdin="1 2 3")
        with open(self.path("out.txt")) as file:
            self.assertEqual(file.read(), "1\n3\n6\n")
        values = samples("f4", 100_000)
        self.write("a.npy", values)
        printed = np.array(lines(self.output("scan", "--op", "max", "a.npy")), "f4")
        np.testing.assert_array_equal(printed, np.maximum.accumulate(values))

    def test_raw_output(self):
        self.output("scan", "--dtype", "i32", "--out-dtype", "i32", "-", "-o", "out.raw", stdin="1 2 3")
        with open(self.path("out.raw"), "rb") as file:
            self.assertEqual(file.read(), np.array([1, 3, 6], "i4").tobytes())
        self.output("scan", "--dtype", "bf16", "--out-dtype", "bf16", "-", "-o", "out.bin", stdin="1 2 3")
        with open(self.path("out.bin"), "rb") as file:
            self.assertEqual(file.read(), (np.array([1, 3, 6], "f4").view("u4") >> 16).astype("u2").tobytes())
        self.assert_fails(1, "scan", "--dtype", "bf16", "--out-dtype", "bf16", "-", "-o", "out.npy", stdin="1",
                          tells=["out.npy: ", "no bf16", "--out-dtype f32"])

    def test_json(self):
        result = self.json("scan", "-", stdin="1 inf 2")
        self.assertEqual(list(result), ["command", "op", "exclusive", "files", "dtype", "out_dtype", "values", "count", "seconds",
                                        "bytes", "gbps"])
        self.assertEqual((result["values"], result["count"]), ([1, "inf", "inf"], 3))
        self.assertEqual(self.json("scan", "-", stdin="")["values"], [])
        self.assertEqual(self.json("scan", "--op", "any", "--dtype", "i32", "-", stdin="0 2")["values"], [False, True])
        result = self.json("scan", "-", "-o", "out.npy", stdin="1 2")
        self.assertEqual(list(result), ["command", "op", "exclusive", "files", "dtype", "out_dtype", "output", "count", "seconds",
                                        "bytes", "gbps"])

    def test_verbose_tells_more(self):
        self.write("a.npy", np.arange(1000, dtype="i4"))
        table = dict(line.split(None, 1) for line in self.output("scan", "-v", "a.npy", "-o", "o.npy").splitlines())
        self.assertEqual((table["output"], table["type"], table["elements"]), ("o.npy", "i64", "1,000 x i32"))
        self.assertEqual(self.output("scan", "a.npy", "-o", "o.npy"), "")


if __name__ == "__main__":
    unittest.main()
