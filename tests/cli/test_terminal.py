# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What people see: tables, bars that fit the terminal, a progress bar that leaves no trace."""
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

import numpy as np
from command import CommandTest


class Terminal(CommandTest):
    def on_terminal(self, *arguments, columns=80, rows=24, env=None, stream="stdout", drive=None, stdin=subprocess.DEVNULL):
        """Runs with one stream on a pseudo-terminal; returns all that it showed. `drive(process)` runs meanwhile."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
        process = self.start(*arguments, stdin=stdin, env=env or {}, **streams)
        os.close(theirs)
        shown = bytearray()

        def read():
            try:
                while piece := os.read(ours, 65536):
                    shown.extend(piece)
            except OSError:  # how a pseudo-terminal says that the other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        if drive:
            drive(process)
        self.assertEqual(process.wait(), 0)
        reader.join()
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")

    def bars(self, text):
        return [line for line in text.splitlines() if line.startswith("[")]

    def test_reduce_shows_a_table(self):
        self.write("a.npy", np.arange(10))
        self.assertRegex(self.on_terminal("reduce", "a.npy"), r"^sum +45\ntype +i64\ninput +a.npy\nelements +10 x i64\ntime +")

    def test_bars_fit_any_width(self):
        self.write("a.npy", np.random.default_rng(1).normal(size=100_000))
        for columns in (20, 40, 80, 81, 200):
            for locale in ("C.UTF-8", "C"):
                shown = self.on_terminal("histogram", "--bins", "12", "a.npy", columns=columns, env={"LC_ALL": locale})
                bars = self.bars(shown)
                self.assertEqual(len(bars), 12)
                with self.subTest(columns=columns, locale=locale):
                    block = "█" if locale == "C.UTF-8" else "#"
                    self.assertEqual(shown.isascii(), locale == "C" or columns == 20)
                    if columns >= 80:
                        self.assertLessEqual(max(map(len, bars)), columns)
                        self.assertGreaterEqual(max(map(len, bars)), columns - 1)
                        self.assertGreater(max(bar.count(block) for bar in bars), columns // 3)

    def test_bars_are_proportional(self):
        self.write("a.npy", np.repeat(np.arange(4.0), [10, 20, 40, 0]))
        bars = self.bars(self.on_terminal("histogram", "--bins", "4", "--range", "0:4", "a.npy", columns=60))
        lengths = [sum({"█": 8, "▉": 7, "▊": 6, "▋": 5, "▌": 4, "▍": 3, "▎": 2, "▏": 1}.get(c, 0) for c in bar) for bar in bars]
        self.assertEqual(lengths[3], 0)
        self.assertAlmostEqual(lengths[0] * 4, lengths[2], delta=4)
        self.assertAlmostEqual(lengths[1] * 2, lengths[2], delta=2)

    def test_a_rare_bin_is_seen(self):
        self.write("a.npy", np.repeat(np.arange(3.0), [1, 0, 1_000_000]))
        bars = self.bars(self.on_terminal("histogram", "--bins", "3", "a.npy"))
        self.assertTrue(bars[0].endswith("▏"), bars)
        self.assertTrue(bars[1].endswith("0"), bars)

    def test_many_bins_share_rows(self):
        array = np.random.default_rng(1).integers(0, 1000, size=100_000)
        self.write("a.npy", array)
        for rows in (10, 24, 60):
            shown = self.on_terminal("histogram", "--bins", "1000", "--range", "0:1000", "a.npy", rows=rows)
            self.assertLess(shown.count("\n"), rows)
            self.assertIn("1,000 bins, ", shown)
            merged = int(shown.split("1,000 bins, ")[1].split()[0])
            counts = [int(bar.split(")")[-1].split("]")[-1].split()[0].replace(",", "")) for bar in self.bars(shown)]
            self.assertEqual(f"and {1000 % merged} in the last" in shown, 1000 % merged != 0, shown)
            expected = [int(((array >= k) & (array < k + merged)).sum()) for k in range(0, 1000, merged)]
            self.assertEqual(counts, expected)

    def test_columns_and_lines_of_the_environment(self):
        self.write("a.npy", np.arange(1000))
        shown = self.on_terminal("histogram", "--bins", "20", "a.npy", env={"COLUMNS": "50", "LINES": "12"})
        self.assertLessEqual(max(map(len, shown.splitlines())), 90)  # the note on merged bins may be longer than the bars
        self.assertLessEqual(max(map(len, self.bars(shown))), 50)
        self.assertLess(len(shown.splitlines()), 12)

    def test_columns_that_cannot_be(self):
        self.write("a.npy", np.arange(1000))
        for columns in ("99999999999", "-5", "0", "wide", "80x", "", "1e2"):
            shown = self.on_terminal("histogram", "a.npy", columns=60, env={"COLUMNS": columns})
            self.assertEqual(max(map(len, self.bars(shown))), 60, columns)

    def test_names_are_escaped(self):
        name = "a\x1b[31m\nb.npy"
        self.write(name, np.arange(10.0))
        for arguments in (["reduce"], ["histogram"], ["scan", "-o", "\x1b[2J.npy"]):
            shown = self.on_terminal(*arguments, name)
            self.assertNotIn("\x1b", shown)
            self.assertRegex(shown, r"(?m)^input +a\\x1b\[31m\\x0ab.npy$")
        shown = self.on_terminal("histogram", "--range", "0:1", "-o", "counts", name, stream="stderr")
        self.assertTrue(shown.startswith("upsweep: a\\x1b[31m\\x0ab.npy: in no bin"), shown)

    def test_samples_apart_are_in_the_table(self):
        self.write("a.npy", np.array([0, 0.5, 2, np.nan, np.nan]))
        shown = self.on_terminal("histogram", "--range", "0:1", "--bins", "2", "a.npy")
        self.assertRegex(shown, r"samples +5\nabove +1\nnan +2\n")

    def test_letters(self):
        self.write("text", "aaaa zz")
        shown = self.on_terminal("histogram", "--text", "text")
        self.assertRegex(shown, r"(?m)^a-d  4  █+$")
        self.assertRegex(shown, r"(?m)^e-h  0$")
        self.assertRegex(shown, r"no letters +1\n")
        self.assertIn("a-h", self.on_terminal("histogram", "--text", "text", rows=12))

    def test_scan_shows_head_and_tail(self):
        self.write("a.npy", np.ones(1000, "i4"))
        shown = self.on_terminal("scan", "a.npy", rows=14).splitlines()
        self.assertEqual(shown, ["1", "2", "3", "4", "5", "... 990 more (all of them with -o FILE) ...", "996", "997", "998",
                                 "999", "1000"])
        self.write("a.npy", np.ones(10, "i4"))
        self.assertEqual(self.on_terminal("scan", "a.npy", rows=14).split(), [str(i + 1) for i in range(10)])

    def test_progress_of_a_pipe(self):
        def drive(process):
            for _ in range(14):
                process.stdin.write(b"1\n" * 600_000)
                process.stdin.flush()
                time.sleep(0.1)
            process.stdin.close()
        shown = self.on_terminal("reduce", "-", stream="stderr", stdin=subprocess.PIPE, drive=drive)
        self.assertRegex(shown, r"\r[\d.]+ MB, [\d.]+ MB/s\x1b\[K")
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)

    def test_progress_of_a_file(self):
        with open(self.path("a.npy"), "wb") as file:  # of zeros that take no room on the disk
            header = "{'descr': '>f8', 'fortran_order': False, 'shape': (134217728,)}"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            file.truncate(file.tell() + 2**30)

        def drive(process):  # the clock goes on while the process stands still
            time.sleep(0.05)
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.1)
            process.send_signal(signal.SIGCONT)
        shown = self.on_terminal("reduce", "--threads", "1", "a.npy", stream="stderr", drive=drive)
        self.assertRegex(shown, r"\r\[[█▏▎▍▌▋▊▉ ]{30,}\] +\d+ %  [\d.]+ [MG]B, [\d.]+ [MG]B/s\x1b\[K")
        self.assertLessEqual(max(len(part.replace("\x1b[K", "")) for part in shown.split("\r")), 80)
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)

    def test_no_progress_without_a_terminal_or_a_reason(self):
        self.write("a.npy", np.arange(10))
        self.assertEqual(self.on_terminal("reduce", "a.npy", stream="stderr"), "")
        process = self.start("reduce", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"1\n" * 500_000)
        process.stdin.flush()
        time.sleep(1.2)
        self.assertEqual(process.communicate(b"1\n" * 500_000), (b"1000000\n", b""))


if __name__ == "__main__":
    unittest.main()
