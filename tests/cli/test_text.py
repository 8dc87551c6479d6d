# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reading numbers written out as text: each to the bit, in any spelling, wherever blocks are cut."""
import math
import os
import random
import struct
import subprocess
import unittest
from fractions import Fraction

import numpy as np
from command import CommandTest, reference_sum


class Numbers(CommandTest):
    def value(self, text, *options):
        return self.output("reduce", *options, "-", stdin=text)

    def test_spellings(self):
        for text, value in (("0", 0), ("-0", 0), ("+5", 5), ("5.", 5), (".5", 0.5), ("-.5", -0.5), ("1e3", 1000),
                            ("1E+3", 1000), ("25e-1", 2.5), ("0x1f", 31), ("-0X1F", -31), ("0x1.8p3", 12), ("0x.8", 0.5),
                            ("0x1p-1074", 5e-324), ("0x1p-2000", 0), ("inf", math.inf), ("-Infinity", -math.inf),
                            ("+INF", math.inf), ("1e-400", 0), ("4.9e-324", 5e-324), ("00012", 12),
                            ("0." + "0" * 400 + "1", 0), ("1" + "0" * 308, 1e308), ("1.7976931348623157e308", 1.7976931348623157e308),
                            ("9007199254740993", 9007199254740992), ("123456789012345678901234567890", 1.2345678901234568e29)):
            with self.subTest(text=text):
                self.assertEqual(float(self.output("reduce", "--dtype", "f64", "-", stdin=text)), value)
        self.assertEqual(self.value("nan"), "nan\n")
        self.assertEqual(self.value("-NaN"), "nan\n")
        self.assertEqual(self.json("reduce", "-", stdin="-0 ")["count"], 1)

    def test_a_type_that_only_a_late_number_tells(self):
        front = "\n".join(str(i) for i in range(200_000)) + "\n"  # more than is looked at first
        total = 200_000 * 199_999 // 2
        for late, result, dtype in (("0.5", str(total + 0.5), "f64"), (str(2**63), str(total + 2**63), "u64"),
                                    (f"{2**63}\n1e3", repr(float(total + 2**63 + 1000)), "f64"),
                                    ("nan", "nan", "f64"), ("-7", str(total - 7), "i64")):
            with self.subTest(late=late):
                self.write("numbers", front + late)
                folded = self.output("reduce", "numbers").strip()
                if dtype == "f64":
                    np.testing.assert_allclose(float(folded), float(result), rtol=1e-14)
                else:
                    self.assertEqual(folded, result)
                self.write("one", "1")
                for files in (["numbers"], ["one", "numbers"], ["numbers", "one"]):
                    self.assertEqual(self.json("reduce", *files)["dtype"], dtype)
        self.write("numbers", front + "0.5")
        self.output("scan", "numbers", "-o", "out.npy")
        self.assertEqual(np.load(self.path("out.npy"))[-1], total + 0.5)
        for arguments in ([], ["--range", "0:200000"]):
            counted = self.json("histogram", "--bins", "4", *arguments, "numbers")
            self.assertEqual((counted["dtype"], sum(counted["counts"]), counted["counts"][0]), ("f64", 200_001, 50_001))
        for late in (f"{2**63}\n-1", f"-1\n{2**63}", str(2**64)):
            self.write("numbers", front + late)
            self.assert_fails(1, "reduce", "numbers", tells=["numbers: line 20000", "does not fit 64 bits beside the other integers"])
        np.save(self.path("a.npy"), np.array([1, 2]))
        self.write("numbers", front + "0.5")
        self.assert_fails(1, "reduce", "a.npy", "numbers", tells=["numbers: line 200001: '0.5' is not an integer"])

    def test_every_double_is_read_to_the_bit(self):
        # A running maximum of ascending numbers repeats them.
        draw = random.Random(5)
        spellings = []
        for _ in range(60_000):
            kind = draw.randrange(7)
            if kind == 0:
                spellings.append(repr(struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0]))
            elif kind == 1:
                spellings.append(str(draw.randrange(-10**draw.randrange(1, 22), 10**draw.randrange(1, 22))))
            elif kind == 2:
                spellings.append(f"{draw.uniform(-1000, 1000):.{draw.randrange(0, 25)}f}")
            elif kind == 3:
                spellings.append(f"{draw.uniform(-1, 1):.{draw.randrange(0, 25)}e}")
            elif kind == 4:
                spellings.append(f"{draw.getrandbits(draw.randrange(1, 70))}.{draw.getrandbits(draw.randrange(1, 60))}")
            elif kind == 5:
                spellings.append("-" + "0" * draw.randrange(20) + str(draw.randrange(10**6)) + "." + "0" * draw.randrange(25))
            else:
                spellings.append(struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0].hex())
        pairs = sorted((float.fromhex(s) if "0x" in s else float(s), s) for s in spellings if "nan" not in s)
        expected = np.array([value for value, _ in pairs])
        self.write("numbers", "\n".join(s for _, s in pairs))
        self.output("scan", "--op", "max", "numbers", "-o", "out.npy")
        actual = np.load(self.path("out.npy"))
        nonzero = expected != 0  # the maximum of -0 and 0 does not repeat a -0 after a 0
        np.testing.assert_array_equal(actual[nonzero].view("u8"), expected[nonzero].view("u8"))
        self.assertEqual(len(actual), len(expected))

    def test_floats_are_rounded_once(self):
        draw = random.Random(6)
        spellings = [f"{draw.uniform(0, 100):.{draw.randrange(0, 14)}f}" for _ in range(30_000)]
        spellings += ["16777217", "16777219", "0.1", "8388608.5", "1.00000017881393432617187499", "1.00000017881393432617187501",
                      "3.4028235e38", "1e-46"]
        for name, code in (("f32", "f4"), ("f16", "f2")):
            # NumPy reads f4 by way of f8, which rounds twice: decimal arithmetic decides.
            fitting = [s for s in spellings if float(s) < float(np.finfo(code).max)]
            ordered = sorted(fitting, key=Fraction)
            self.output("scan", "--op", "max", "--dtype", name, "-o", "out.npy", "-", stdin="\n".join(ordered))
            actual = np.load(self.path("out.npy"))
            for value, text in zip(actual, ordered):
                exact = Fraction(text)
                below, above = (np.nextafter(value, np.array(side, code)) for side in (-np.inf, np.inf))
                distance = abs(Fraction(float(value)) - exact)
                neighbours = [abs(Fraction(float(n)) - exact) for n in (below, above) if np.isfinite(n)]
                self.assertLessEqual(distance, min(neighbours), (name, text, value))

    def test_integers_are_exact(self):
        for dtype, values in (("i64", [-2**63, 2**63 - 1, 0]), ("u64", [2**64 - 1, 0]), ("i8", [-128, 127]), ("u8", [255, 0]),
                              ("i16", [-32768, 32767]), ("u32", [2**32 - 1]), ("i32", [-2**31])):
            for value in values:
                self.assertEqual(int(self.value(f"{value}", "--op", "max", "--dtype", dtype)), value)
        self.assertEqual(self.value("0xff -0x80 +3", "--dtype", "i64"), f"{255 - 128 + 3}\n")
        self.assertEqual(self.value("9223372036854775807 -1", "--dtype", "i64"), "9223372036854775806\n")
        self.assertEqual(self.value("18446744073709551615", "--op", "min", "--dtype", "u64"), "18446744073709551615\n")

    def test_bools(self):
        self.assertEqual(self.value("1 true TRUE 0 false", "--dtype", "bool"), "3\n")
        self.assertEqual(self.value("1 0", "--op", "any", "--dtype", "bool"), "true\n")

    def test_the_locale_does_not_matter(self):
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.path("de_DE.UTF-8")], capture_output=True)
        if made.returncode > 1:  # 1 is a warning
            self.skipTest("no sources of locales here")
        env = {"LOCPATH": self.folder, "LC_ALL": "de_DE.UTF-8"}
        shown = subprocess.run(["printf", "%.1f", "1,5"], env={**os.environ, **env}, capture_output=True).stdout
        self.assertEqual(shown, b"1,5")  # a comma, where the locale is heard
        self.assertEqual(self.output("reduce", "-", stdin="1.25 2.25 0x0.8p0", env=env), "4\n")


class Layout(CommandTest):
    def test_white_space(self):
        for text in ("1\n2\n3\n", "1 2 3", "  1\t2\r\n3\r\n\r\n", "\n\n1\v2\f3\n\n", "1\r2\r3", "\xef\xbb\xbf1 2 3".encode("latin-1")):
            self.write("numbers.txt", text)
            for arguments, stdin in ((["numbers.txt"], b""), (["-"], text)):
                result = self.json("reduce", *arguments, stdin=stdin)
                self.assertEqual((result["count"], result["result"]), (3, 6), text)
        self.assertEqual(self.output("reduce", "-", stdin=" \n \n"), "0\n")

    def test_many_blocks(self):
        draw = np.random.default_rng(4)
        values = draw.normal(size=400_000)
        for between in ("\n", "\r\n", " ", " \n\n  "):
            text = between.join(map(repr, values.tolist()))
            self.write("numbers.txt", text)
            for threads in ("1", "2", "5"):
                for arguments, stdin in ((["numbers.txt"], b""), (["-"], text)):
                    with self.subTest(between=between, threads=threads, arguments=arguments):
                        actual = float(self.output("reduce", "--threads", threads, *arguments, stdin=stdin))
                        self.assertEqual(actual, reference_sum(values, "f64"))
        pieces = [self.write(f"{i}.txt", "\n".join(map(repr, piece.tolist())) + "\n" * (i % 2))
                  for i, piece in enumerate(np.array_split(values, 7))]
        self.assertEqual(float(self.output("reduce", *pieces)), reference_sum(values, "f64"))

    def test_a_pipe_that_delivers_in_drops(self):
        process = self.start("reduce", "-", stdin=-1, stdout=-1, stderr=-1)
        for i in range(2000):
            process.stdin.write(b"12" if i % 2 else b"3\n")
            process.stdin.flush()
        out, err = process.communicate()
        self.assertEqual((out.decode(), err), (f"{3 + 999 * 123 + 12}\n", b""))

    def test_other_types(self):
        values = np.random.default_rng(8).integers(-10**15, 10**15, size=200_000)
        self.write("numbers.txt", "\n".join(map(str, values.tolist())))
        self.assertEqual(int(self.output("reduce", "--dtype", "i64", "numbers.txt")), values.sum())
        self.output("scan", "--dtype", "i64", "numbers.txt", "-o", "out.npy")
        np.testing.assert_array_equal(np.load(self.path("out.npy")), np.cumsum(values))


class Refusing(CommandTest):
    def refuse(self, text, *tells, options=()):
        self.write("numbers.txt", text)
        self.assert_fails(1, "reduce", *options, "numbers.txt", tells=["numbers.txt: ", *tells])
        self.assert_fails(1, "reduce", *options, "--format", "text", "-", stdin=text, tells=["standard input: ", *tells])

    def test_what_is_no_number(self):
        for bad in ("abc", "1,5", "1.5.2", "--1", "+-1", "1e", "e5", "0x", "0x1g", "0x1p", "1_000", "0b1", "1f", "$5", "5%",
                    "infinit", "nan(1)", "١", "1\x00", "-", "+", ".", "1e5.5", "0x.p1", "'5'"):
            with self.subTest(text=bad):
                self.refuse(f"1\n2\n{bad}\n4\n", "line 3", "is not a number")
        self.refuse("1 2,5", "line 1", "'2,5'", "--column")
        self.refuse("1\n1,234,567\n", "line 2", "thousands separators")
        self.refuse("1\n\x01\n", "line 2", r"'\x01'")

    def test_what_does_not_fit(self):
        self.refuse("1\n\n1e400\n", "line 3", "'1e400' does not fit f64")
        self.refuse("-1e309", "line 1", "does not fit f64")
        self.refuse("0x1p1024", "line 1", "does not fit f64")
        self.refuse("1e39", "line 1", "does not fit f32", options=("--dtype", "f32"))
        self.refuse("65520", "line 1", "does not fit f16", options=("--dtype", "f16"))
        self.refuse("256", "line 1", "does not fit u8", "--dtype", options=("--dtype", "u8"))
        self.refuse("-1", "line 1", "does not fit u8", options=("--dtype", "u8"))
        self.refuse("9223372036854775808", "line 1", "does not fit i64", options=("--dtype", "i64"))
        self.refuse("99999999999999999999999", "line 1", "does not fit i64", options=("--dtype", "i64"))
        self.refuse("1\n2.5", "line 2", "not an integer", "--dtype f64", options=("--dtype", "i64"))
        self.refuse("1\n1e3", "line 2", "not an integer", options=("--dtype", "i64"))
        self.refuse("2", "line 1", "not a bool", options=("--dtype", "bool"))

    def test_the_line_is_right_far_into_the_input(self):
        lines = ["1.25"] * 500_000
        for line in (1, 2, 104_858, 250_001, 500_000):
            spoiled = list(lines)
            spoiled[line - 1] = "oops"
            self.refuse("\n".join(spoiled), f"line {line}: 'oops'")

    def test_the_first_of_two_errors_is_reported(self):
        lines = ["1"] * 2_000_000
        lines[300_000] = "first"
        lines[1_900_000] = "second"
        self.refuse("\n".join(lines), "line 300001: 'first'", options=("--threads", "4"))

    def test_words_without_an_end(self):
        self.refuse("1\n" + "1" * 3_000_000, "bytes")
        self.refuse("x" * 50, "line 1", "'" + "x" * 40 + "...'")


if __name__ == "__main__":
    unittest.main()
