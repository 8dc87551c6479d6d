# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The examples of the README, on inputs of the names that they use."""
import gzip
import os
import re
import subprocess
import unittest

import numpy as np

from command import COMMAND, CommandTest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Readme(CommandTest):
    def shell(self, line):
        environment = os.environ | {"LC_ALL": "C.UTF-8", "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"]}
        done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=self.folder, env=environment, timeout=60,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), line)
        return done.stdout.decode()

    def test_the_shell(self):
        self.write("measurements.npy", np.arange(1, 101, dtype=np.float64))
        self.write("sensor.csv", "time,temperature\n1,20.5\n2,23.25\n3,19\n")
        self.write("images.npy", np.array([[1, 2], [3, 5]], np.uint8))
        self.write("states.txt", "7 7 7 2")
        self.write("prices.npy", np.array([3, 1, 4, 1], np.int32))
        self.write("delays.csv", "flight,delay\na,-20\nb,5\nc,99.5\nd,99\n")
        self.write("book.txt", "Of a ray of light.\n")
        self.write("log.gz", gzip.compress(b"1\n2\n3.5\n"))
        block = re.search(r"## From the shell\n\n```sh\n(.*?)```", read("README.md"), re.DOTALL).group(1)
        expected = {"measurements.npy": "5050", "sensor.csv": "23.25", "images.npy": "", "prices.npy": "", "delays.csv": "-20", "book.txt": "e-h",
                    "states.txt": "7\t3\n2\t1\n", "log.gz": "6.5"}
        lines = block.splitlines()
        self.assertEqual(len(lines), len(expected))
        for line, (name, tells) in zip(lines, expected.items()):
            with self.subTest(line=line):
                self.assertIn(name, line)
                self.assertIn(tells, self.shell(line))
        np.testing.assert_array_equal(np.load(self.path("running.npy")), [3, 4, 8, 9])
        np.testing.assert_array_equal(np.load(self.path("mean.npy")), [2, 3.5])

    def test_the_program(self):
        block = re.search(r"## From C\+\+\n\n```cpp\n(.*?)```", read("README.md"), re.DOTALL).group(1)
        self.assertIn(block.strip(), read("examples", "reduce.cpp"))


if __name__ == "__main__":
    unittest.main()
