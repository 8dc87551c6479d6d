# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""upsweep histogram: counts as NumPy's, and nothing lost in silence."""
import gzip
import json
import os
import resource
import signal
import subprocess
import unittest

import numpy as np
from command import CommandTest, npy_bytes, sampled
from test_npy import DTYPES, samples


def single_edges(array, bins):
    """The edges that NumPy 2 has for samples of f32 where it finds the range: np.linspace in f32."""
    lo, hi = array.min(), array.max()
    edges = np.arange(bins + 1, dtype="f4") * ((hi - lo) / np.float32(bins)) + lo
    edges[-1] = hi
    return edges


class Samples(CommandTest):
    def counts(self, *arguments, **keywords):
        return self.json("histogram", *arguments, **keywords)

    def test_every_type_between_its_extremes(self):
        for dtype, code in DTYPES.items():
            if dtype in ("i64", "u64", "f16"):  # NumPy rounds the edges otherwise
                continue
            array = samples(code, 50_001)
            self.write("a.npy", array)
            with self.subTest(dtype=dtype):
                numbers = array.astype("u1") if code == "?" else array
                expected, edges = np.histogram(numbers, single_edges(array, 20) if code == "f4" else 20)
                result = self.counts("--bins", "20", "a.npy")
                self.assertEqual(result["counts"], expected.tolist())
                np.testing.assert_array_equal(np.array(result["range"], edges.dtype), [edges[0], edges[-1]])
                self.assertEqual([result[k] for k in ("below", "above", "nan")], [0, 0, 0])

    def test_samples_of_f32_have_edges_computed_in_f32(self):
        draw = np.random.default_rng(12)
        differ = 0
        for bins in sampled((1, 2, 3, 7, 10, 49, 1000), 3):
            for lo, hi in ((0, 1), (-3.3, 7.7), (0.1, 0.7), (1e-30, 1e30), (100, 100.01)):
                array = draw.uniform(lo, hi, size=2000).astype("f4")
                edges = single_edges(array, bins)
                if bins == 1000 and (np.diff(edges) <= 0).any():
                    continue
                array = np.concatenate([array, edges, *(np.nextafter(edges[1:-1], np.float32(side)) for side in (-np.inf, np.inf))])
                self.write("a.npy", array)
                with self.subTest(bins=bins, lo=lo, hi=hi):
                    expected = np.histogram(array, edges)[0]
                    result = self.counts("--bins", str(bins), "a.npy")
                    self.assertEqual(result["counts"], expected.tolist())
                    printed = np.array(self.output("histogram", "--bins", str(bins), "a.npy").split()[0::3], "f4")
                    np.testing.assert_array_equal(printed, edges[:-1])
                    self.assertEqual(result["range"], [float(str(edges[0])), float(str(edges[-1]))])
                    differ += (np.linspace(float(edges[0]), float(edges[-1]), bins + 1).astype("f4") != edges).any()
                    if np.__version__ >= "2":
                        np.testing.assert_array_equal(np.histogram(array, bins)[1], edges)
                        self.assertEqual(np.histogram(array, bins)[0].tolist(), expected.tolist())
        self.assertGreater(differ, 5)

    def test_a_range(self):
        array = samples("f8", 50_000)
        array[::1000] = np.nan
        array[1::5000] = np.inf
        array[2::7000] = -np.inf
        self.write("a.npy", array)
        finite = array[~np.isnan(array)]
        for arguments, stdin in ((["a.npy"], b""), (["--format", "raw", "--dtype", "f64", "-"], array.tobytes()),
                                 (["-"], "\n".join(map(repr, array.tolist())))):
            result = self.counts("--range", "-1.5:2.25", "--bins", "31", *arguments, stdin=stdin)
            self.assertEqual(result["counts"], np.histogram(array, 31, (-1.5, 2.25))[0].tolist())
            self.assertEqual((result["below"], result["above"], result["nan"]),
                             (int((finite < -1.5).sum()), int((finite > 2.25).sum()), 50))
            self.assertEqual(sum(result["counts"]) + result["below"] + result["above"] + result["nan"], array.size)

    def test_edges(self):
        array = np.random.default_rng(9).integers(-50, 150, size=10_000)
        self.write("a.npy", array)
        result = self.counts("--edges=-10,0,18,65.5,120", "a.npy")
        self.assertEqual(result["counts"], np.histogram(array, [-10, 0, 18, 65.5, 120])[0].tolist())
        self.assertEqual(result["edges"], [-10, 0, 18, 65.5, 120])
        self.assertEqual((result["below"], result["above"]), (int((array < -10).sum()), int((array > 120).sum())))
        self.assertEqual(self.counts("--edges", "-1,1", "-", stdin="0")["counts"], [1])

    def test_edges_that_are_nearly_even(self):
        draw = np.random.default_rng(8)
        for code in ("f4", "f8", "f2", "i2", "i8"):
            for bins in sampled((1, 2, 7, 64, 1000), 3):
                for off in (0, 1e-7, 1e-3, 0.2, 0.4):  # in bins
                    even = np.linspace(-3.3, 1000.7, bins + 1)
                    edges = even + draw.uniform(-off, off, bins + 1) * (even[1] - even[0])
                    array = draw.uniform(-10, 1010, 5000).astype(code)
                    if code[0] == "f":
                        near = edges.astype(code)
                        array = np.concatenate([array, near, np.nextafter(near, np.array(-np.inf, code)),
                                                np.nextafter(near, np.array(np.inf, code))])
                    self.write("a.npy", array)
                    result = self.counts("--edges=" + ",".join(map(repr, edges.tolist())), "a.npy")
                    with self.subTest(code=code, bins=bins, off=off):
                        self.assertEqual(result["counts"], np.histogram(array.astype("f8"), edges)[0].tolist())

    def test_the_range_of_the_samples(self):
        self.assertEqual(self.counts_of([5, 5, 5])["range"], [4.5, 5.5])
        for value, code in ((1e17, "f8"), (-1e17, "f8"), (1e17, "f4"), (3e7, "f4"), (2**60, "i8"), (2**60, "u8")):
            self.write("a.npy", np.full(4, value, code))
            self.assert_fails(1, "histogram", "a.npy", tells=["a.npy: all samples are ", "--range LO:HI"])
        self.write("a.npy", np.full(4, 0.1, "f4"))
        self.assertEqual(self.counts("a.npy")["range"], [-0.4, 0.6])
        self.assertEqual(self.counts_of([1, np.nan, 3])["range"], [1, 3])
        self.assertEqual(self.counts_of([1, np.nan, 3])["nan"], 1)
        self.write("1.npy", np.arange(10.0))
        self.write("2.npy", np.arange(100.0, 110))
        self.assertEqual(self.counts("1.npy", "2.npy")["range"], [0, 109])
        self.write("inf.npy", np.array([1, np.inf]))
        self.assert_fails(1, "histogram", "inf.npy", tells=["inf.npy: ", "infinite", "--range"])
        for name, array in (("empty.npy", np.zeros(0)), ("nan.npy", np.array([np.nan]))):
            self.write(name, array)
            self.assert_fails(1, "histogram", name, tells=[f"{name}: no samples", "--range"])

    def counts_of(self, values):
        self.write("a.npy", np.array(values, "f8"))
        return self.counts("a.npy")

    def test_the_range_of_text_takes_two_passes(self):
        values = np.random.default_rng(2).normal(size=300_000)
        self.write("a.txt", "\n".join(map(repr, values.tolist())))
        self.assertEqual(self.counts("--bins", "50", "a.txt")["counts"], np.histogram(values, 50)[0].tolist())
        self.write("a.csv", "x,y\n" + "\n".join(f"7,{value!r}" for value in values.tolist()))
        self.assertEqual(self.counts("--bins", "50", "--column", "y", "a.csv")["counts"], np.histogram(values, 50)[0].tolist())
        with open(self.path("a.txt"), "rb") as file:
            self.assertEqual(self.counts("--bins", "50", "-", stdin=file)["counts"], np.histogram(values, 50)[0].tolist())

    def test_the_range_of_a_pipe(self):
        array = np.random.default_rng(4).normal(size=200_000)
        integers = (array * 1000).astype("i8")
        text = "\n".join(map(repr, array.tolist()))
        table = "x;y\n" + "\n".join(f"7;{value!r}" if k % 1000 else "7;NA" for k, value in enumerate(array.tolist()))
        single = array.astype("f4")
        present = array[np.arange(array.size) % 1000 != 0]
        for stdin, arguments, samples, edges in (
                (text, [], array, 20), (" ".join(map(str, integers.tolist())), [], integers, 20),
                (gzip.compress(text.encode(), 1), [], array, 20),
                (array.tobytes(), ["--format", "raw", "--dtype", "f64"], array, 20),
                (npy_bytes(array), [], array, 20), (npy_bytes(single), [], single, single_edges(single, 20)),
                (npy_bytes(single.astype(">f4")), [], single, single_edges(single, 20)),
                (table, ["--column", "y"], present, 20)):
            with self.subTest(arguments=arguments, stdin=stdin[:20]):
                expected, edges = np.histogram(samples, edges)
                process = self.run_command("histogram", "--bins", "20", "--json", *arguments, "-", stdin=stdin)
                self.assertEqual((process.returncode, process.err), (0, b""))
                result = json.loads(process.out)
                self.assertEqual(result["counts"], expected.tolist())
                self.assertEqual(result["count"], samples.size)
                self.assertEqual(result.get("missing", 0), 200 if stdin is table else 0)
                np.testing.assert_array_equal(np.array(result["range"], edges.dtype), [edges[0], edges[-1]])
                if not isinstance(stdin, bytes):
                    self.assertEqual(result["bytes"], len(stdin))
        self.write("a.txt", "-100 5000")
        self.assertEqual(self.counts("a.txt", "-", stdin="1 2")["range"], [-100, 5000])
        self.assertEqual(self.output("histogram", "--bins", "10", "-", stdin="\n".join(map(str, range(1, 1001)))).split()[:3],
                         ["1", "100.9", "100"])
        for stdin, tells in (("", "no samples"), ("nan", "no samples"), ("1 inf", "infinite samples"), ("1e17", "all samples are 1e+17")):
            self.assert_fails(1, "histogram", "-", stdin=stdin, tells=["standard input: ", tells, "--range LO:HI"])

    def test_a_compressed_file_is_read_twice_and_not_kept(self):
        with gzip.open(self.path("a.gz"), "wb", 1) as file:
            for k in range(5):
                file.write(bytes([k]) * (80 << 20))
        environment = {"TMPDIR": "/not/there"}
        self.assertEqual(self.counts("--bins", "5", "--format", "raw", "--dtype", "u8", "a.gz", env=environment)["counts"], [80 << 20] * 5)

    def test_a_long_pipe_is_kept_in_a_temporary_file(self):
        os.mkdir(self.path("room"))
        environment = {"TMPDIR": self.path("room")}
        feed = ["sh", "-c", "head -c 300000000 /dev/zero; printf '\\011\\007'"]
        arguments = ["--bins", "10", "--format", "raw", "--dtype", "u8", "-"]
        with subprocess.Popen(feed, stdout=subprocess.PIPE) as pipe:
            result = self.counts(*arguments, stdin=pipe.stdout, env=environment)
        self.assertEqual((result["range"], result["counts"]), ([0, 9], [300_000_000, 0, 0, 0, 0, 0, 0, 1, 0, 1]))
        self.assertEqual(os.listdir(self.path("room")), [])

        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        with subprocess.Popen(feed, stdout=subprocess.PIPE) as pipe:
            self.assert_fails(1, "histogram", *arguments, stdin=pipe.stdout, env=environment, preexec_fn=limit,
                              tells=["standard input: ", self.path("room"), "File too large", "--range LO:HI", "TMPDIR"])
        with subprocess.Popen(feed, stdout=subprocess.PIPE) as pipe:
            self.assert_fails(1, "histogram", *arguments, stdin=pipe.stdout, env={"TMPDIR": "/not/there"},
                              tells=["standard input: ", "/not/there", "No such file", "--range LO:HI"])
        process = self.start("histogram", *arguments, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        for _ in range(300):
            process.stdin.write(b"x" * 1_000_000)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), -signal.SIGTERM)
        process.stdin.close()
        self.assertEqual(os.listdir(self.path("room")), [])

    def test_an_empty_file_has_no_range(self):
        self.write("empty", "")
        self.write("a.txt", "1 2")
        for arguments in (["empty"], ["--dtype", "f32", "--format", "raw", "empty"]):
            self.assert_fails(1, "histogram", *arguments, tells=["empty: no samples", "--range"])
        with open(self.path("empty"), "rb") as file:
            self.assert_fails(1, "histogram", "-", stdin=file, tells=["standard input: no samples", "--range"])
        self.assertEqual(self.counts("a.txt", "empty")["range"], [1, 2])

    def test_lines_for_programs(self):
        process = self.run_command("histogram", "--range", "0:1", "--bins", "4", "-", stdin="0 .1 .3 .8 1 2 -5 nan nan")
        self.assertEqual(process.out.decode(), "0\t0.25\t2\n0.25\t0.5\t1\n0.5\t0.75\t0\n0.75\t1\t2\n")
        self.assertEqual(process.err.decode(), "upsweep: standard input: in no bin: 1 below, 1 above, 2 nan\n")
        self.write("a.npy", np.array([0.1, 0.2], "f4"))
        edges = self.output("histogram", "--bins", "3", "--range", "0:1", "a.npy").split()[1]
        self.assertEqual(np.float32(edges), np.float32(1 / 3))
        self.assertEqual(len(edges), len("0.33333334"))

    def test_counts_as_a_file(self):
        self.output("histogram", "--range", "0:4", "--bins", "4", "-", "-o", "counts.npy", stdin="0 1 1 3")
        np.testing.assert_array_equal(np.load(self.path("counts.npy")), np.array([1, 2, 0, 1], "u8"))
        self.output("histogram", "--range", "0:4", "--bins", "4", "-", "-o", "counts", stdin="0 1 1 3")
        with open(self.path("counts")) as file:
            self.assertEqual(file.read(), "1\n2\n0\n1\n")

    def test_counts_and_json_on_standard_output(self):
        for arguments in (["--range", "0:4"], ["--text"]):
            self.assert_fails(2, "histogram", *arguments, "--json", "-o", "-", "-", stdin="0", tells=["--output", "--json"])

    def test_many_bins(self):
        array = np.random.default_rng(2).integers(0, 2**20, size=300_000).astype("u4")
        self.write("a.npy", array)
        result = self.counts("--range", f"0:{2**20}", "--bins", str(2**20), "a.npy")
        self.assertEqual(result["counts"], np.bincount(array, minlength=2**20).tolist())

    def test_json_keys(self):
        self.assertEqual(list(self.counts("--range", "0:1", "-", stdin="")), [
            "command", "files", "dtype", "count", "bins", "range", "counts", "below", "above", "nan", "seconds", "bytes", "gbps"])

    def test_bins_that_cannot_be(self):
        self.write("a.npy", np.arange(3))
        for options, tells in ((["--bins", "0"], "--bins: '0'"), (["--bins", "-3"], "--bins: '-3'"), (["--bins", "x"], "--bins: 'x'"),
                               (["--range", "1:1"], "LO must be less than HI"), (["--range", "2:1"], "LO must be less than HI"),
                               (["--range", "1"], "LO:HI"), (["--range", "a:b"], "'a' is not a number"),
                               (["--range", "0:inf"], "not finite"), (["--range", "nan:1"], "not finite"),
                               (["--edges", "1"], "two or more"), (["--edges", "1,3,2"], "2 does not ascend from 3"),
                               (["--edges", "1,1"], "does not ascend"), (["--edges", "0,nan"], "does not ascend"),
                               (["--edges", "0,,1"], "'' is not a number"), (["--edges", "0,1", "--bins", "3"], "--bins"),
                               (["--edges", "0,1", "--range", "0:1"], "--range"), (["--text", "--bins", "3"], "--bins"),
                               (["--group", "2"], "--group"), (["--text", "--group", "27"], "1 to 26")):
            with self.subTest(options=options):
                self.assert_fails(2, "histogram", *options, "a.npy", tells=tells)
        self.assert_fails(1, "histogram", "--bins", str(2**50), "a.npy", tells=["--bins: 1,125,899,906,842,624", "ask for fewer"])


class Letters(CommandTest):
    def test_groups(self):
        text = bytes(range(256)) * 1000 + "Übersicht, Größe\n".encode() * 300_000
        self.write("text", text)
        for group in (1, 4, 7, 26):
            expected = [0] * ((26 + group - 1) // group)
            for letter in range(26):
                expected[letter // group] += text.count(bytes([65 + letter])) + text.count(bytes([97 + letter]))
            for arguments, stdin in ((["text"], b""), (["-"], text)):
                result = self.json("histogram", "--text", "--group", str(group), *arguments, stdin=stdin)
                self.assertEqual((result["counts"], result["others"]), (expected, len(text) - sum(expected)))
                self.assertEqual((result["count"], len(result["groups"])), (len(text), len(expected)))
        self.assertEqual(list(result), ["command", "files", "count", "groups", "counts", "others", "seconds", "bytes", "gbps"])

    def test_lines_for_programs(self):
        self.assertEqual(self.output("histogram", "--text", "-", stdin="Abba zeta"),
                         "a-d\t5\ne-h\t1\ni-l\t0\nm-p\t0\nq-t\t1\nu-x\t0\ny-z\t1\n")
        self.assertEqual(self.output("histogram", "--text", "--group", "1", "-", stdin="aA").split()[:4], ["a", "2", "b", "0"])

    def test_several_files_and_none(self):
        self.write("1", "aaa")
        self.write("2", "bbb")
        self.assertEqual(self.json("histogram", "--text", "1", "2")["counts"][0], 6)
        self.assertEqual(sum(self.json("histogram", "--text", "-", stdin="")["counts"]), 0)


if __name__ == "__main__":
    unittest.main()
