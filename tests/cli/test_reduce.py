# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep reduce: every operator and type to the bit, and what is printed."""
import json
import math
import os
import unittest

import numpy as np
from command import CommandTest, fold_order, npy_bytes, sampled
from test_npy import DTYPES, samples

NAMES = {"sum": "plus", "product": "multiplies", "min": "minimum", "max": "maximum", "and": "bit_and", "or": "bit_or",
         "xor": "bit_xor", "all": "logical_and", "any": "logical_or"}


class Reduce(CommandTest):
    def test_every_operator_and_type(self):
        for dtype, code in sampled(DTYPES.items(), 3):
            array = samples(code, 10_007)
            if np.dtype(code).kind == "f":
                array = np.sign(array) * (1 + np.abs(array) % 2**-4)  # a product that stays in range
            self.write("a.npy", array.astype(code))
            array = array.astype(code)
            for name, op in NAMES.items():
                if not fold_order.supported(op, dtype):
                    self.assert_fails(1, "reduce", "--op", name, "a.npy", tells=["a.npy: ", op, dtype])
                    continue
                with self.subTest(dtype=dtype, op=name):
                    expected = fold_order.reduce(array, op, dtype)
                    if op == "multiplies" and dtype[0] in "iu" and np.all(array):
                        self.assert_fails(1, "reduce", "--op", name, "a.npy", tells=["a.npy: element ", "127 bits", "--out-dtype f64"])
                        self.assertEqual(self.output("reduce", "--wrap", "--op", name, "a.npy"), f"{expected[0]}\n")
                        continue
                    result = self.json("reduce", "--op", name, "a.npy")
                    exact = sum(array.tolist()) if op == "plus" and dtype[0] in "iu" else 0
                    if not -2**63 <= exact < (2**64 if dtype[0] == "u" else 2**63):
                        self.assertEqual((result["result"], result["result_dtype"]), (exact, "i128"))
                        self.assertEqual(self.output("reduce", "--op", name, "a.npy"), f"{exact}\n")
                        continue
                    self.assertEqual(result["result_dtype"], fold_order.reduce_dtype(op, dtype))
                    value = float(result["result"]) if isinstance(result["result"], str) else result["result"]
                    self.assertEqual(np.array([value], expected.dtype).tobytes(), expected.tobytes())
                    self.assertEqual(self.output("reduce", "--op", op, "a.npy"), self.output("reduce", "--op", name, "a.npy"))

    def test_the_threads_do_not_matter(self):
        self.write("a.npy", samples("f4", 3_000_001))
        results = {self.output("reduce", "--threads", str(n), "a.npy") for n in (1, 2, 3, 7)}
        self.assertEqual(len(results), 1)

    def test_out_dtype_gives_the_last_value_of_a_scan(self):
        for number, (dtype, code) in enumerate(DTYPES.items()):
            array = samples(code, 3001)
            if np.dtype(code).kind == "f":
                array = (np.sign(array) * (1 + np.abs(array) % 2**-4)).astype(code)
            self.write("a.npy", array)
            for out in sampled(DTYPES, 11, number):
                for name in ("sum", "product", "min", "xor", "any"):
                    with self.subTest(dtype=dtype, out=out, op=name):
                        arguments = ["--op", name, "--out-dtype", out, "--wrap", "a.npy"]
                        scan = self.run_command("scan", *arguments, "-o", "last.npy")
                        if scan.returncode == 0:
                            result = self.json("reduce", *arguments)
                            self.assertEqual(result["result_dtype"], out)
                            last = np.load(self.path("last.npy"))[-1:]
                            value = float(result["result"]) if isinstance(result["result"], str) else result["result"]
                            if np.isnan(last):  # of any sign
                                self.assertEqual(result["result"], "nan")
                            else:
                                self.assertEqual(np.array([value], last.dtype).tobytes(), last.tobytes())
                        else:
                            self.assert_fails(1, "reduce", *arguments, tells="a.npy: ")

    def test_products_of_integers_are_exact(self):
        def product(stdin, *arguments):
            return self.output("reduce", "--op", "product", *arguments, "-", stdin=stdin)
        ones = "1 -1 " * 300_000
        for numbers in (range(1, 21), range(1, 34), [-2] * 126, [2**62, -3, 5], [3] * 80, []):
            exact = math.prod(numbers)
            text = " ".join(map(str, numbers))
            for stdin in (text, ones + text, text + " " + ones):
                self.assertEqual(product(stdin), f"{exact}\n")
        self.assertEqual(product(f"{2**63} {2**63 - 1} 1"), f"{2**63 * (2**63 - 1)}\n")
        self.assertEqual(self.json("reduce", "--op", "product", "-", stdin="9223372036854775807 -3")["result_dtype"], "i128")
        for dtype, code in DTYPES.items():
            if dtype[0] in "iub":
                array = np.ones(1_000_001, code)
                if dtype[0] != "b":
                    array[[5, 70_000, 999_999]] = 3, 5, 7
                if dtype[0] == "i":
                    array[[0, 6, 100_000]] = -1
                self.write("a.npy", array)
                exact = math.prod(array[np.nonzero(array - np.array(1, code) if dtype[0] != "b" else ~array)].tolist())
                self.assertEqual(self.output("reduce", "--op", "product", "a.npy"), f"{exact}\n")
                array[800_000] = 0
                self.write("a.npy", array)
                self.assertEqual(self.output("reduce", "--op", "product", "a.npy"), "0\n")

    def test_a_product_that_is_too_large(self):
        fails = lambda *arguments, **keywords: self.assert_fails(1, "reduce", "--op", "product", *arguments, **keywords)
        fails("-", stdin="1\n" * 200_000 + "2\n2\n" * 63 + "2 -3\n4\n", tells=["standard input: line 200127: ", "127 bits", "--out-dtype f64", "--wrap"])
        self.write("a.csv", "x,y\n" + '1,"a\n"\n' * 100 + "NA,b\n\n" + "-9223372036854775807,c\n" * 5)
        fails("--column", "x", "a.csv", tells="a.csv: line 206: ")
        array = np.full(300_000, 3)
        array[:200_000] = -1
        self.write("a.npy", array)
        fails("a.npy", tells="a.npy: element 200080, counted from 0: ")
        self.write("ones.npy", np.ones(1000, "i8"))
        fails("ones.npy", "a.npy", tells="a.npy: element 200080, ")
        self.write("zero.npy", np.zeros(1, "i8"))
        self.assertEqual(self.output("reduce", "--op", "product", "a.npy", "zero.npy"), "0\n")
        array[-1] = 0
        self.write("a.npy", array)
        self.assertEqual(self.output("reduce", "--op", "product", "a.npy"), "0\n")
        self.assertEqual(self.output("reduce", "--op", "product", "--wrap", "-", stdin="3 " * 200), f"{(3**200 + 2**63) % 2**64 - 2**63}\n")
        self.assertEqual(float(self.output("reduce", "--op", "product", "--out-dtype", "f64", "-", stdin="2 " * 200)), 2.0**200)

    def test_an_out_dtype_that_is_too_narrow(self):
        fails = lambda *arguments, **keywords: self.assert_fails(1, "reduce", *arguments, **keywords)
        fails("--out-dtype", "u8", "-", stdin="300 -1", tells=["standard input: the sum is 299, which does not fit u8", "wider", "--wrap"])
        fails("--out-dtype", "u64", "-", stdin="1 -2", tells="the sum is -1, which does not fit u64")
        fails("--out-dtype", "i64", "-", stdin="9223372036854775807 1", tells="the sum is 9223372036854775808, ")
        fails("--out-dtype", "i32", "--op", "product", "-", stdin="65536 65536", tells="the product is 4294967296, which does not fit i32")
        for op in ("min", "max", "and", "or", "xor"):
            fails("--out-dtype", "u8", "--op", op, "-", stdin="1\n2\n300\n256", tells=["standard input: line 3: 300 does not fit u8", "--wrap"])
        self.assertEqual(self.output("reduce", "--out-dtype", "u8", "-", stdin="300 -200"), "100\n")
        self.assertEqual(self.output("reduce", "--out-dtype", "u8", "--op", "max", "--wrap", "-", stdin="300 2"), "44\n")
        self.write("a.npy", np.ones(300, "?"))
        self.assertEqual(self.output("reduce", "a.npy"), "300\n")
        fails("--out-dtype", "i8", "a.npy", tells="the sum is 300, which does not fit i8")

    def test_out_dtype_is_the_type_of_the_fold(self):
        array = np.random.default_rng(7).random(3_000_001).astype("f4")
        self.write("a.npy", array)
        expected = f"{fold_order.reduce(array.astype('f8'), 'plus', 'f64')[0]!r}\n"
        for threads in ("1", "2", "5"):
            self.assertEqual(self.output("reduce", "--out-dtype", "f64", "--threads", threads, "a.npy"), expected)
        self.assertEqual(self.output("reduce", "--out-dtype", "f64", "--format", "raw", "--dtype", "f32", "-",
                                     stdin=array.tobytes()), expected)
        self.assertEqual(self.output("reduce", "--out-dtype", "u8", "--wrap", "--dtype", "i64", "-", stdin="300 -1"), "43\n")
        self.assertEqual(float(self.output("reduce", "--out-dtype", "bf16", "-", stdin="256 1 1 1")), 260)
        self.assert_fails(1, "reduce", "--out-dtype", "i64", "a.npy", tells=["a.npy: ", "i64", "f32", "floating-point"])
        self.assert_fails(1, "reduce", "--op", "and", "--out-dtype", "f64", "--dtype", "i64", "-", stdin="1", tells="bit_and")
        self.assert_fails(2, "reduce", "--out-dtype", "c8", "a.npy", tells="--out-dtype: 'c8'")

    def test_what_is_printed_reads_back(self):
        for dtype, code in (("f32", "f4"), ("f64", "f8"), ("f16", "f2")):
            for value in (0.1, 1 / 3, 1e-7, 6.1e-5, 12345.678, 1e4, -0.0):
                array = np.array([value], code)
                self.write("a.npy", array)
                text = self.output("reduce", "--op", "max", "a.npy").strip()
                self.assertEqual(np.array([text], code).tobytes(), array.tobytes(), text)
        self.write("a.npy", np.array([0.1], "f2"))
        self.assertEqual(self.output("reduce", "--op", "max", "a.npy"), "0.1\n")

    def test_values_that_are_not_finite(self):
        for value, text in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
            self.write("a.npy", np.array([1, value]))
            self.assertEqual(self.output("reduce", "a.npy"), text + "\n")
            self.assertEqual(self.json("reduce", "a.npy")["result"], text)

    def test_json_keys(self):
        self.write("a.npy", np.arange(10, dtype="i4"))
        text = self.output("reduce", "--json", "a.npy")
        self.assertEqual(text.count("\n"), 1)
        self.assertEqual(list(json.loads(text)), ["command", "op", "files", "dtype", "count", "result_dtype", "result",
                                                  "seconds", "bytes", "gbps"])
        result = json.loads(text)
        self.assertEqual((result["command"], result["op"], result["files"]), ("reduce", "sum", ["a.npy"]))
        self.assertEqual((result["count"], result["bytes"], result["result"]), (10, 40, 45))

    def test_json_of_names_and_narrow_floats(self):
        for code in ("f2", "f4", "f8"):
            for value, text in ((0.1, "0.1"), (-0.0, "-0.0"), (5, "5.0")):
                self.write("a.npy", np.array([value], code))
                self.assertIn(f'"result":{text},', self.output("reduce", "--op", "max", "--json", "a.npy"))
        for name in ("sum", "plus", "any"):
            self.assertEqual(self.json("reduce", "--op", name, "a.npy")["op"], name)
            self.assertEqual(self.json("scan", "--op", name, "a.npy")["op"], name)
        strange = b"a\xff\x1b\n.npy"
        with open(os.path.join(os.fsencode(self.folder), strange), "wb") as file:
            file.write(npy_bytes(np.arange(3)))
        for arguments in (["reduce"], ["scan"], ["scan", "-o", b"out\xff.npy"], ["histogram"]):
            self.assertEqual(self.json(*arguments, strange)["files"], ["a\ufffd\x1b\n.npy"])

    def test_verbose_tells_more(self):
        self.write("a.npy", np.arange(100_000, dtype="i4"))
        table = dict(line.split(None, 1) for line in self.output("reduce", "--verbose", "a.npy").splitlines())
        self.assertEqual((table["sum"], table["type"], table["input"]), ("4999950000", "i64", "a.npy"))
        self.assertEqual(table["elements"], "100,000 x i32")
        self.assertRegex(table["time"], r"^[\d.]+ (us|ms|s), [\d.]+ GB/s$")

    def test_a_target_that_is_not_there(self):
        self.write("a.npy", np.arange(10))
        if self.json("info")["gpu"] == "none":
            self.assert_fails(1, "reduce", "--target", "cuda", "a.npy", tells="a.npy: ")
        self.assertEqual(self.output("reduce", "--target", "cpu", "a.npy"), "45\n")


if __name__ == "__main__":
    unittest.main()
