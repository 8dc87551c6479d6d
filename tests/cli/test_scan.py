# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep scan: values to the bit, inclusive and exclusive, of every kind of input."""
import os
import unittest

import numpy as np
from command import CommandTest, fold_order, sampled
from test_npy import DTYPES, samples
from test_reduce import NAMES


def lines(text):
    return text.split("\n")[:-1]


class Scan(CommandTest):
    def scanned(self, *arguments, **keywords):
        self.output("scan", *arguments, "-o", "out.npy", **keywords)
        return np.load(self.path("out.npy"))

    def test_every_operator_and_type(self):
        for dtype, code in sampled(DTYPES.items(), 3):
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
                        actual = self.scanned("--op", name, "--wrap", *["--exclusive"][:exclusive], "a.npy")
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
            actual = self.scanned("--out-dtype", name, "--wrap", "a.npy")
            self.assertEqual(actual.dtype, np.dtype(code))
            np.testing.assert_array_equal(actual, np.cumsum(np.full(300, 100), dtype="i8").astype(code))
        self.write("f.npy", samples("f2", 1000))
        self.assertEqual(self.scanned("f.npy").dtype, np.dtype("f4"))
        self.assertEqual(self.scanned("--out-dtype", "f16", "f.npy").dtype, np.dtype("f2"))

    def test_values_that_would_wrap(self):
        draw = np.random.default_rng(3)
        limits = {dtype: (int(np.iinfo(code).min), int(np.iinfo(code).max)) for dtype, code in DTYPES.items() if dtype[0] in "iu"}
        for dtype, out, op, length in (("i8", "i8", "sum", 50), ("i8", "u8", "sum", 20), ("i64", "i64", "sum", 9), ("u64", "u64", "sum", 9),
                                       ("i32", "i16", "sum", 30), ("u64", "i64", "sum", 9), ("i64", "u64", "sum", 5), ("bool", "i8", "sum", 300),
                                       ("i32", "i64", "product", 9), ("u8", "u64", "product", 20), ("i64", "i8", "product", 9),
                                       ("i64", "u64", "product", 9), ("u64", "i64", "product", 9), ("bool", "u8", "product", 9)):
            for trial in sampled(range(8), 3):
                lo, hi = limits.get(dtype, (0, 1))
                if op == "product" or out == "i16":
                    lo, hi = max(lo, -300), min(hi, 300)
                array = draw.integers(lo, hi, length, endpoint=True, dtype="u8" if dtype == "u64" else "i8")
                if trial % 2:
                    array //= 5
                exclusive = trial // 2 % 2 == 1
                init = [None, 3][trial // 4]
                self.write("a.npy", array.astype(DTYPES[dtype]))
                prefix = init if init is not None else int(op == "product")
                expected, first = [], None
                for k, x in enumerate(array.astype(DTYPES[dtype]).tolist()):
                    previous, prefix = prefix, prefix * x if op == "product" else prefix + x
                    expected.append(previous if exclusive else prefix)
                    if first is None and not limits[out][0] <= expected[-1] <= limits[out][1]:
                        first = k
                arguments = ["--op", op, "--out-dtype", out, *["--exclusive"][:exclusive], *(["--init", "3"] if init else []), "a.npy"]
                with self.subTest(dtype=dtype, arguments=arguments, array=array.tolist()):
                    if first is None:
                        self.assertEqual(self.scanned(*arguments).tolist(), expected)
                    else:
                        self.assert_fails(1, "scan", *arguments, "-o", "none.npy", tells=[
                            f"a.npy: element {first}, counted from 0: the running {op} does not fit {out}", "--out-dtype", "--wrap"])
                        self.assertFalse(os.path.exists(self.path("none.npy")))
                        wrapped = np.array([(x - limits[out][0]) % 2**(8 * np.dtype(DTYPES[out]).itemsize) + limits[out][0] for x in expected],
                                           object).astype(DTYPES[out])
                        np.testing.assert_array_equal(self.scanned("--wrap", *arguments), wrapped)

    def test_values_that_would_wrap_in_long_inputs(self):
        # The borders of pieces, of chunks and of files, where the value before is of another one.
        for size, place in ((3_000_000, 524_288), (3_000_000, 524_287), (3_000_000, 524_289), (20_000_000, 8_388_608), (20_000_000, 8_388_609)):
            for exclusive in (False, True):
                array = np.zeros(size, "i8")
                array[10] = 2**63 - 1
                array[place - exclusive] = 1
                self.write("a.npy", array)
                self.assert_fails(1, "scan", *["--exclusive"][:exclusive], "a.npy", "-o", "none.npy", tells=f"a.npy: element {place}, ")
        self.write("1.npy", np.full(1000, 2**53))
        self.write("2.npy", np.full(1000, 2**53))
        self.assert_fails(1, "scan", "1.npy", "2.npy", "-o", "none.npy", tells="2.npy: element 23, counted from 0: ")
        self.assertEqual(int(self.scanned("--exclusive", "1.npy", "2.npy", "--out-dtype", "u64")[-1]), 1999 * 2**53)
        self.write("b.npy", np.array([-2**63, -1]))
        self.assert_fails(1, "scan", "b.npy", "-o", "none.npy", tells="b.npy: element 1, ")
        self.assert_fails(1, "scan", "--op", "product", "b.npy", "-o", "none.npy", tells="b.npy: element 1, ")
        self.assert_fails(1, "scan", "--op", "max", "--out-dtype", "u8", "-", stdin="1\n\n-7\n", tells="standard input: line 3: -7 does not fit u8")
        lines = "".join(f"{k}\n" for k in range(1, 30))
        process = self.run_command("scan", "--op", "product", "-", stdin=lines)
        self.assertEqual(process.returncode, 1)
        self.assertIn("standard input: line 21: the running product does not fit i64", process.err.decode())
        self.assert_fails(1, "scan", "--op", "product", "-", "-o", "none", stdin="1 " * 600_000 + "\n" + lines, tells="standard input: line 22: ")

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

    def test_numbers_that_are_wider_than_those_before(self):
        self.write("a.txt", "1\n" * 400_000 + "0.5\n")  # the front of the text tells integers
        for arguments in ([], ["-o", "-"]):
            printed = lines(self.output("scan", *arguments, "a.txt"))
            self.assertEqual((len(printed), printed[-2:]), (400_001, ["400000", "400000.5"]))
        self.assertEqual(len(self.json("scan", "a.txt")["values"]), 400_001)

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
