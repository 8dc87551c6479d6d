# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep runs: values and lengths, also of runs that go on from piece to piece and from file to file."""
import unittest

import numpy as np
from command import CommandTest
from test_npy import DTYPES


def runs_of(array):
    heads = np.flatnonzero(np.concatenate([np.ones(min(len(array), 1), bool), array[1:] != array[:-1]]))
    return array[heads], np.diff(np.append(heads, len(array)))


class Runs(CommandTest):
    def test_every_type(self):
        draw = np.random.default_rng(5)
        for code in DTYPES.values():
            array = draw.integers(0, 2, 200).astype(code)
            self.write("a.npy", array)
            printed = [line.split("\t") for line in self.output("runs", "a.npy").splitlines()]
            values, lengths = runs_of(array)
            self.assertEqual([int(length) for _, length in printed], lengths.tolist())
            self.assertEqual([{"true": 1, "false": 0}.get(value) if code == "?" else float(value) for value, _ in printed],
                             [float(value) for value in values])

    def test_pieces_and_files(self):
        draw = np.random.default_rng(6)
        piece = 1 << 18
        array = np.repeat(draw.integers(0, 1000, 60), draw.integers(1, 30_000, 60)).astype("i4")
        array[piece - 1:piece + 1] = 7  # a run across the border of two pieces
        array[2 * piece - 1:2 * piece + 1] = 1, 2  # and none
        self.write("a.npy", array)
        values, lengths = runs_of(array)
        expected = "".join(f"{value}\t{length}\n" for value, length in zip(values, lengths))
        self.assertEqual(self.output("runs", "a.npy"), expected)
        for cut in (1000, piece, len(array) - 1):
            self.write("1.npy", array[:cut])
            self.write("2.npy", array[cut:])
            self.assertEqual(self.output("runs", "1.npy", "2.npy"), expected)
        self.assertEqual(self.output("runs", "--format", "raw", "--dtype", "i32", "-", stdin=array.tobytes()), expected)

    def test_zeros_and_nan(self):
        self.assertEqual(self.output("runs", "-", stdin="-0.0 0 0 nan nan inf inf"), "-0\t3\nnan\t1\nnan\t1\ninf\t2\n")
        self.assertEqual(self.output("runs", "-", stdin=""), "")

    def test_numbers_that_are_wider_than_those_before(self):
        self.write("a.txt", "1\n2\n" * 200_000 + "0.5\n")  # the front of the text tells integers
        self.assertEqual(self.output("runs", "a.txt"), "1\t1\n2\t1\n" * 200_000 + "0.5\t1\n")
        self.assertEqual(self.json("runs", "a.txt")["run_count"], 400_001)

    def test_tables(self):
        self.write("a.csv", "t,state\n1,5\n2,5\n3,\n4,5\n5,2\n")
        process = self.run_command("runs", "--column", "state", "a.csv")
        self.assertEqual((process.returncode, process.out), (0, b"5\t3\n2\t1\n"))
        self.assertIn(b"1 of 5 records have no value", process.err)
        self.assert_fails(1, "runs", "missing.npy", tells="missing.npy: ")
        self.assert_fails(1, "runs", "--target", "cuda", "a.csv", tells="--target cuda")

    def test_json(self):
        result = self.json("runs", "-", stdin="1 1 0.5 nan")
        self.assertEqual(list(result), ["command", "files", "dtype", "runs", "run_count", "count", "seconds", "bytes", "gbps"])
        self.assertEqual((result["runs"], result["run_count"], result["count"]), ([[1, 2], [0.5, 1], ["nan", 1]], 3, 4))
        self.assertEqual(self.json("runs", "-", stdin="")["runs"], [])


if __name__ == "__main__":
    unittest.main()
