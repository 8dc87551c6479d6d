# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep histogram --axis: every line as NumPy counts it, shapes, and what is in no bin."""
import json
import unittest

import numpy as np
from command import CommandTest


def counted(array, axis, edges):
    """numpy.histogram of each line, in the place of the axis."""
    return np.apply_along_axis(lambda line: np.histogram(line[~np.isnan(line)], edges)[0].astype("u8"), axis, array)


class HistogramAxis(CommandTest):
    def counts(self, *arguments):
        process = self.run_command("histogram", *arguments, "-o", "out.npy")
        self.assertEqual((process.returncode, process.out), (0, b""))
        return np.load(self.path("out.npy"))

    def test_axes_and_bins(self):
        rng = np.random.default_rng(1)
        array = (10 * rng.normal(size=(7, 5, 11))).astype("f4")
        for stored in (array, np.asfortranarray(array), array.astype("i2"), array.astype("f8")):
            self.write("a.npy", stored)
            for axis in (0, 1, 2, -1):
                for extra, edges in ((["--bins", "4"], np.histogram_bin_edges(stored, 4)),
                                     (["--range", "-5:9", "--bins", "3"], np.linspace(-5, 9, 4)),
                                     (["--edges", "-3,0,1.5,7"], [-3, 0, 1.5, 7])):
                    with self.subTest(dtype=stored.dtype, axis=axis, bins=extra):
                        np.testing.assert_array_equal(self.counts("--axis", str(axis), *extra, "a.npy"),
                                                      counted(stored, axis, edges))

    def test_what_is_printed(self):
        array = np.array([[1, 2, 2.5], [9, np.nan, 2]])
        self.write("a.npy", array)
        arguments = ["histogram", "--axis", "1", "--range", "1:3", "--bins", "2", "a.npy"]
        process = self.run_command(*arguments)
        self.assertEqual((process.out.split(), process.err.decode()),
                         ([b"1", b"2", b"0", b"1"], "upsweep: a.npy: in no bin: 1 above, 1 nan\n"))
        told = json.loads(self.output(*arguments, "--json"))
        self.assertEqual((told["counts"], told["result_shape"], told["below"], told["above"], told["nan"]),
                         ([1, 2, 0, 1], [2, 2], 0, 1, 1))
        self.assert_fails(1, "histogram", "--axis", "2", "a.npy", tells=["a.npy: ", "no axis 2 of 2 dimensions"])
        self.assert_fails(2, "histogram", "--axis", "x", "a.npy", tells=["--axis: "])


if __name__ == "__main__":
    unittest.main()
