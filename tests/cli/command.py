# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share. UPSWEEP_COMMAND names the binary."""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import fold_order  # noqa: E402  the independent reference of the canonical order

COMMAND = os.path.abspath(os.environ["UPSWEEP_COMMAND"])


def sampled(cases, step, first=0):
    """The cases, or every step-th one where some stand for all (UPSWEEP_TEST_FEW)."""
    return list(cases)[first % step::step] if "UPSWEEP_TEST_FEW" in os.environ else list(cases)


def npy_bytes(array, version=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version, allow_pickle=False)
    return stream.getvalue()


def reference_sum(array, dtype):
    return fold_order.reduce(np.ascontiguousarray(array).ravel(), "plus", dtype)[0]


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="upsweep-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Writes bytes, text, or an array as .npy; returns the name."""
        if isinstance(content, np.ndarray):
            content = npy_bytes(content)
        if isinstance(content, str):
            content = content.encode()
        with open(self.path(name), "wb") as file:
            file.write(content)
        return name

    def start(self, *arguments, **keywords):
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment.update({"LC_ALL": "C.UTF-8"} | keywords.pop("env", {}))
        return subprocess.Popen([COMMAND, *arguments], cwd=self.folder, env=environment, **keywords)

    def run_command(self, *arguments, stdin=b"", **keywords):
        """Runs to the end, which must come in time. stdin comes through a pipe, unless it is a file."""
        timeout = keywords.pop("timeout", 300)
        through_pipe = isinstance(stdin, (bytes, str))
        process = self.start(*arguments, stdin=subprocess.PIPE if through_pipe else stdin, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **keywords)
        given = (stdin.encode() if isinstance(stdin, str) else stdin) if through_pipe else None
        process.out, process.err = process.communicate(given, timeout=timeout)
        return process

    def output(self, *arguments, **keywords):
        """Standard output of a run that must succeed without a word on standard error."""
        process = self.run_command(*arguments, **keywords)
        self.assertEqual((process.returncode, process.err), (0, b""), arguments)
        return process.out.decode()

    def json(self, *arguments, **keywords):
        return json.loads(self.output(*arguments, "--json", **keywords))

    def assert_fails(self, status, *arguments, tells, **keywords):
        """A failure is its status, nothing on standard output, and one line that tells all of `tells`."""
        process = self.run_command(*arguments, **keywords)
        message = process.err.decode()
        self.assertEqual(process.returncode, status, message)
        self.assertEqual(process.out, b"")
        self.assertEqual(message.count("\n"), 1, message)
        self.assertTrue(message.startswith("upsweep: ") and message.endswith("\n"), message)
        for part in [tells] if isinstance(tells, str) else tells:
            self.assertIn(part, message)


if __name__ == "__main__":
    sys.exit("this is a module of the tests")
