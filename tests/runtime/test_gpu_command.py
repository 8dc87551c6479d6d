# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The command with --target cuda, on a GPU or a simulated one: what it prints and writes is that of --target cpu."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import numpy as np  # noqa: E402
from command import CommandTest  # noqa: E402
from test_npy import samples  # noqa: E402

LITTLE = ("--gpu-memory", "48K")  # chunks of some thousand elements, so that small files are many of them


class OnTheGpu(CommandTest):
    def same(self, *arguments, **keywords):
        """What both targets print."""
        expected = self.output(*arguments, "--target", "cpu", **keywords)
        self.assertEqual(self.output(*arguments, "--target", "cuda", *LITTLE, **keywords), expected, arguments)
        return expected

    def same_file(self, *arguments, **keywords):
        for target in ("cpu", "cuda"):
            self.output(*arguments, "--target", target, *LITTLE, "-o", f"{target}.npy", **keywords)
        with open(self.path("cpu.npy"), "rb") as expected, open(self.path("cuda.npy"), "rb") as actual:
            self.assertEqual(actual.read(), expected.read(), arguments)

    def setUp(self):
        super().setUp()
        self.array = samples("f4", 40_003)
        self.write("a.npy", self.array)

    def test_reduce(self):
        for op in ("sum", "min", "any"):
            self.same("reduce", "--op", op, "a.npy")
        self.write("half.npy", samples("f2", 30_000))
        self.same("reduce", "half.npy")
        self.write("flags.npy", self.array > 0)
        self.assertEqual(self.same("reduce", "flags.npy"), f"{np.count_nonzero(self.array > 0)}\n")

    def test_scan(self):
        self.same_file("scan", "a.npy")
        self.same_file("scan", "--exclusive", "--init", "0.1", "a.npy")
        self.write("small.npy", samples("i1", 20_000))
        self.same_file("scan", "small.npy")  # in 64 bits
        self.same_file("scan", "--op", "max", "--exclusive", "--out-dtype", "i8", "small.npy")

    def same_counts(self, *arguments, **keywords):
        """What both targets count; everything but the time."""
        on_cpu, on_gpu = (self.json("histogram", *arguments, "--target", target, *LITTLE, **keywords)
                          for target in ("cpu", "cuda"))
        for key in on_cpu:
            if key in ("counts", "edges", "range", "below", "above", "nan", "others", "count"):
                self.assertEqual(on_gpu[key], on_cpu[key], arguments)
        return on_cpu["counts"]

    def test_histogram(self):
        self.same("histogram", "--bins", "300", "a.npy")
        self.same_counts("--edges=-1,-0.1,0,2.5", "a.npy")
        self.same_counts("--range=-0.5:0.5", "--bins", "1000", "a.npy")
        for code in ("i1", "u8", "f2"):
            self.write("b.npy", samples(code, 30_000))
            self.same_counts("--bins", "7", "--range=-20:100", "b.npy")
        self.write("text", self.array.tobytes())
        self.assertEqual(len(self.same_counts("--text", "--group", "1", "text")), 26)
        self.same_counts("--range", "0:1", "--dtype", "f32", "--format", "raw", "-", stdin=self.array.tobytes())
        self.assertEqual(self.same_counts("--range", "0:1", "-", stdin=""), 10 * [0])

    def test_several_files_are_one_array(self):
        self.write("1.npy", self.array[:12_345])
        self.write("2.npy", self.array[12_345:12_346])
        self.write("3.npy", self.array[12_346:])
        files = ("1.npy", "2.npy", "3.npy")
        self.assertEqual(self.same("reduce", *files), self.same("reduce", "a.npy"))
        self.same_file("scan", *files)
        self.assertEqual(self.same("histogram", *files), self.same("histogram", "a.npy"))

    def test_pipes_and_text(self):
        raw = ("--dtype", "f32", "--format", "raw", "-")
        self.same("reduce", *raw, stdin=self.array.tobytes())
        self.same_file("scan", *raw, stdin=self.array.tobytes())
        self.write("a.txt", "\n".join(map(str, self.array)))
        self.same("reduce", "a.txt")
        self.same_file("scan", "--exclusive", "a.txt")

    def test_few_elements(self):
        self.assertEqual(self.same("reduce", "-", stdin="1 2 3"), "6\n")
        self.assertEqual(self.same("scan", "-", stdin="1 2 3"), "1\n3\n6\n")
        self.assertEqual(self.same("reduce", "-", stdin=""), "0\n")
        self.assert_fails(1, "reduce", "--op", "min", "--target", "cuda", "-", tells="no elements")

    def test_what_is_not_possible(self):
        for command in ("reduce", "histogram"):
            self.assert_fails(1, command, "--target", "cuda", "--gpu-memory", "100", "a.npy",
                              tells=["--gpu-memory: ", "at least"])
        self.assert_fails(1, "histogram", "--target", "cuda", "--bins", "100000000", "a.npy",
                          tells=["100000000 bins", "GPU"])
        for bad in ("0", "many", "1.5G", "99999999999T"):
            self.assert_fails(2, "reduce", "--gpu-memory", bad, "a.npy", tells=f"--gpu-memory: '{bad}'")

    def test_info_names_the_gpu(self):
        self.assertNotEqual(self.json("info")["gpu"], "none")


if __name__ == "__main__":
    unittest.main()
