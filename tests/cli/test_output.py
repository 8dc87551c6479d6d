# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Output files appear whole or not at all."""
import os
import resource
import signal
import stat
import subprocess
import time
import unittest

import numpy as np
from command import CommandTest, sampled


class Output(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("old.npy", np.array([1.0, 2, 3]))
        with open(self.path("old.npy"), "rb") as file:
            self.old = file.read()

    def assert_old_stays(self):
        with open(self.path("old.npy"), "rb") as file:
            self.assertEqual(file.read(), self.old)
        leftovers = [name for name in os.listdir(self.folder) if name.startswith("old.npy") and name != "old.npy"]
        self.assertEqual(leftovers, [])

    def test_a_failure_of_the_data(self):
        self.assert_fails(1, "scan", "-", "-o", "old.npy", stdin="1\n" * 1_000_000 + "x", tells="line 1000001")
        self.assert_old_stays()
        self.assert_fails(1, "scan", "-", "-o", "new.npy", stdin="1\nx", tells="line 2")
        self.assertFalse(os.path.exists(self.path("new.npy")))
        self.assert_fails(1, "scan", "missing", "-o", "old.npy", tells="missing")
        self.assert_old_stays()

    def test_a_full_disk(self):
        self.write("a.npy", np.zeros(1_000_000))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        for output in ("old.npy", "old.npy.txt"):
            self.assert_fails(1, "scan", "a.npy", "-o", output, preexec_fn=limit, tells=[f"{output}: cannot be written"])
            self.assert_old_stays()
        self.assert_fails(1, "scan", "a.npy", "-o", "/dev/full", tells=["/dev/full: cannot be written", "No space left"])

    def test_standard_output_that_is_full(self):
        self.write("a.npy", np.zeros(1000))
        for arguments in (["reduce"], ["scan"], ["histogram"], ["histogram", "--json"], ["scan", "--json"]):
            with open("/dev/full", "wb") as full:
                process = self.start(*arguments, "a.npy", stdout=full, stderr=subprocess.PIPE)
                message = process.communicate()[1].decode()
            self.assertEqual(process.returncode, 1, arguments)
            self.assertIn("standard output: cannot be written", message)

    def test_streams_that_are_closed(self):
        def run(*arguments, closed, stdin=subprocess.DEVNULL):
            def close():
                for descriptor in closed:
                    os.close(descriptor)
            process = self.start(*arguments, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=close)
            return process.communicate()[1].decode(), process.returncode

        self.write("numbers", "1 2 3")
        for closed in ([1], [1, 2], [0, 1], [0], [0, 1, 2]):
            with self.subTest(closed=closed):
                self.write("q", "old")
                self.assertEqual(run("scan", "numbers", "-o", "q", closed=closed), ("", 0))
                with open(self.path("q")) as file:
                    self.assertEqual(file.read(), "1\n3\n6\n")
        for arguments in (["reduce", "numbers"], ["scan", "numbers"], ["scan", "numbers", "-o", "-"], ["--help"], ["info"],
                          ["scan", "--json", "numbers", "-o", "q"], ["histogram", "numbers"]):
            message, status = run(*arguments, closed=[1])
            self.assertEqual(status, 1, arguments)
            self.assertIn("standard output: cannot be written", message)
        message, status = run("reduce", "-", closed=[0])
        self.assertEqual(status, 1)
        self.assertIn("standard input: cannot be read", message)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGXCPU,
                       signal.SIGUSR1, signal.SIGUSR2):
            process = self.start("scan", "-", "-o", "old.npy", stdin=subprocess.PIPE)
            process.stdin.write(b"1\n" * 1_000_000)
            process.stdin.flush()
            while not [name for name in os.listdir(self.folder) if name.startswith("old.npy.")]:
                time.sleep(0.01)  # until the temporary file is there
            process.send_signal(number)
            process.stdin.close()
            self.assertEqual(process.wait(), -number)
            self.assert_old_stays()

    def test_what_is_written_is_read_back(self):
        types = {"bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4",
                 "u64": "u8", "f16": "f2", "bf16": None, "f32": "f4", "f64": "f8"}
        numpys = {"f64": "float64", "u16": "uint16", "bf16": "bfloat16"}
        for dtype, code in sampled(types.items(), 3):
            values = "1 0 1" if dtype == "bool" else "3 1.5 7.25" if dtype[0] in "fb" else "3 1 7"
            self.write("numbers", values)
            printed = self.output("scan", "--op", "max", "--dtype", dtype, "numbers")
            last = printed.split()[-1]
            tells_type = ["npy", dtype, dtype.upper(), "NPY", *([numpys[dtype].title()] if dtype in numpys else [])]
            for extension in sampled((*tells_type, "raw", "bin", "BIN", "txt", "csv", "TSV", "dat", ""), 2):
                if dtype == "bf16" and extension.lower() == "npy":
                    continue
                name = f"out.{extension}".rstrip(".")
                with self.subTest(dtype=dtype, name=name):
                    self.output("scan", "--op", "max", "--dtype", dtype, "numbers", "-o", name)
                    options = [] if extension in tells_type else ["--dtype", dtype]
                    result = self.json("reduce", "--op", "max", *options, name)
                    self.assertEqual((result["dtype"], result["count"]), (dtype, len(values.split())))
                    self.assertEqual(self.output("reduce", "--op", "max", *options, name).strip(), last)
                    self.assertEqual(self.output("scan", "--op", "max", *options, name), printed)
        self.output("histogram", "--range", "0:8", "--bins", "2", "numbers", "-o", "counts.u64")
        self.assertEqual(self.json("scan", "--op", "max", "counts.u64")["values"], [2, 2])

    def test_names_that_promise_something_else(self):
        for name in ("s.u8", "s.U8", "s.uint8"):
            self.assert_fails(1, "scan", "-", "-o", name, stdin="1.5 2", tells=[f"{name}: ", "u8", "f64", "--out-dtype u8", ".f64"])
        self.assert_fails(1, "histogram", "--range", "0:1", "-", "-o", "c.i64", stdin="1 2", tells=["c.i64: ", "u64"])
        for end in ("gz", "zst", "xz", "bz2", "GZ"):
            self.assert_fails(1, "scan", "-", "-o", f"s.npy.{end}", stdin="1", tells=["compressed", "write s.npy and compress it"])
            self.assert_fails(1, "histogram", "--range", "0:1", "-", "-o", f"s.{end}", stdin="1", tells=[f"s.{end}: ", "compressed"])
        for end in ("npz", "parquet", "feather", "Parquet"):
            self.assert_fails(1, "scan", "-", "-o", f"s.{end}", stdin="1", tells=[f"s.{end}: ", "not written", ".npy"])
        self.assertEqual(os.listdir(self.folder), ["old.npy"])

    def test_in_place(self):
        array = np.random.default_rng(1).normal(size=2_000_000)
        self.write("a.npy", array)
        self.output("scan", "a.npy", "-o", "copy.npy")
        self.output("scan", "a.npy", "-o", "a.npy")
        np.testing.assert_array_equal(np.load(self.path("a.npy")), np.load(self.path("copy.npy")))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npy", "copy.npy", "old.npy"])

    def test_links_and_permissions_stay(self):
        os.symlink("old.npy", self.path("link.npy"))
        os.chmod(self.path("old.npy"), 0o640)
        self.output("scan", "-", "-o", "link.npy", stdin="1 2")
        self.assertTrue(os.path.islink(self.path("link.npy")))
        np.testing.assert_array_equal(np.load(self.path("old.npy")), [1, 3])
        self.assertEqual(stat.S_IMODE(os.stat(self.path("old.npy")).st_mode), 0o640)
        self.output("scan", "-", "-o", "new.npy", stdin="1 2", umask=0o027)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("new.npy")).st_mode), 0o640)

    @unittest.skipIf(os.geteuid() != 0, "only root may give files away")
    def test_the_owner_stays(self):
        os.chown(self.path("old.npy"), 12345, 23456)
        for mode in (0o600, 0o4755, 0o2664):
            os.chmod(self.path("old.npy"), mode)
            self.output("scan", "-", "-o", "old.npy", stdin="1 2")
            status = os.stat(self.path("old.npy"))
            self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (12345, 23456, mode))

    def test_places_that_cannot_be_written(self):
        self.assert_fails(1, "scan", "-", "-o", "nowhere/a.npy", stdin="1", tells=["nowhere/a.npy: cannot be written", "No such file"])
        self.assert_fails(1, "scan", "-", "-o", ".", stdin="1", tells=[".: is a directory"])

    def test_devices_and_pipes_are_written_directly(self):
        self.write("a.npy", np.arange(5))
        self.output("scan", "a.npy", "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        os.mkfifo(self.path("pipe.npy"))
        reader = subprocess.Popen(["cat", self.path("pipe.npy")], stdout=subprocess.PIPE)
        self.output("scan", "a.npy", "-o", "pipe.npy")
        self.write("read.npy", reader.communicate()[0])
        np.testing.assert_array_equal(np.load(self.path("read.npy")), [0, 1, 3, 6, 10])
        reader = subprocess.Popen(["cat", self.path("pipe.npy")], stdout=subprocess.PIPE)
        self.assert_fails(1, "scan", "-", "-o", "pipe.npy", stdin="1 2", tells=["pipe.npy: ", "number of values"])
        self.assertEqual(reader.communicate()[0], b"")

    def test_the_header_is_numpys(self):
        self.output("scan", "-", "-o", "new.npy", stdin="1 2 3.5")
        with open(self.path("new.npy"), "rb") as file:
            content = file.read()
        self.assertEqual(len(content), 128 + 24)
        with open(self.path("new.npy"), "rb") as file:
            self.assertEqual(np.lib.format.read_magic(file), (1, 0))
            self.assertEqual(np.lib.format.read_array_header_1_0(file), ((3,), False, np.dtype("<f8")))

    def test_a_reader_that_leaves(self):
        process = self.start("scan", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        process.stdout.close()
        try:
            process.stdin.write(b"1\n" * 3_000_000)
        except BrokenPipeError:
            pass
        process.stdin.close()
        self.assertEqual((process.wait(), process.stderr.read()), (-signal.SIGPIPE, b""))
        process.stderr.close()

    def test_memory_is_bounded(self):
        # 240 MB of zeros, which this process must not hold: a child's peak begins with its parent's size.
        np.lib.format.open_memmap(self.path("a.npy"), "w+", np.float64, (30_000_000,))
        most = 150_000_000
        for producer, arguments in ((["cat", "a.npy"], ["scan", "-", "-o", "out.npy"]), (["seq", "15000000"], ["reduce", "-"])):
            source = subprocess.Popen(producer, cwd=self.folder, stdout=subprocess.PIPE)
            process = self.start(*arguments, stdin=source.stdout, stdout=subprocess.DEVNULL)
            source.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual((process.returncode, source.wait()), (0, 0))
            self.assertLess(usage.ru_maxrss * 1024, most)


if __name__ == "__main__":
    unittest.main()
