# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Command lines that are wrong, help, and what is installed beside the command."""
import os
import re
import subprocess
import unittest

from command import COMMAND, CommandTest

COMMANDS = ("reduce", "scan", "histogram", "runs", "info")


class Usage(CommandTest):
    def test_command_lines_that_are_wrong(self):
        for arguments, tells in (([], "subcommand is required"), (["frob"], "frob is no command"), (["reduce"], "FILE is required"),
                                 (["reduce", "--frob", "a"], "--frob"), (["scan"], "FILE is required"),
                                 (["reduce", "--op", "mean", "-"], ["--op: 'mean' is unknown", "sum, product"]),
                                 (["reduce", "--dtype", "f80", "-"], ["--dtype: 'f80' is unknown", "bf16"]),
                                 (["reduce", "--format", "xls", "-"], ["--format: 'xls' is unknown", "csv"]),
                                 (["reduce", "--target", "tpu", "-"], ["--target: 'tpu' is unknown", "cuda"]),
                                 (["reduce", "--threads", "0", "-"], "--threads: '0'"),
                                 (["reduce", "--threads", "many", "-"], "--threads: 'many'"),
                                 (["reduce", "--delimiter", ",,", "-"], "--delimiter: ',,'"),
                                 (["reduce", "--delimiter", "5", "-"], "--delimiter: '5'"),
                                 (["reduce", "--header", "maybe", "-"], "--header: 'maybe'"),
                                 (["scan", "--out-dtype", "c8", "-"], "--out-dtype: 'c8' is unknown"),
                                 (["reduce", "-", "-"], "standard input can be read only once"),
                                 (["reduce", "--exclusive", "-"], "--exclusive"), (["runs"], "FILE is required"),
                                 (["runs", "--op", "sum", "-"], "--op"), (["reduce", "-o", "a", "-"], "--axis"),
                                 (["reduce", "--axis", "0", "--op", "median", "-"], "'median' is unknown"),
                                 (["reduce", "--axis", "0", "--op", "mean", "--out-dtype", "i32", "-"], "a mean is no i32")):
            with self.subTest(arguments=arguments):
                self.assert_fails(2, *arguments, tells=tells)

    def test_errors_do_not_wait_for_a_pipe(self):
        os.mkdir(self.path("folder"))
        self.write("b.npy", b"\x93NUMPY")
        has_gpu = self.json("info")["gpu"] != "none"
        reading, writing = os.pipe()
        self.addCleanup(os.close, writing)
        with os.fdopen(reading) as stalled:
            for status, arguments, tells in ((2, ["reduce", "--op", "mean"], "'mean'"), (2, ["reduce", "--header", "maybe"], "'maybe'"),
                                             (2, ["reduce", "--out-dtype", "c8"], "'c8'"), (2, ["scan", "--init", "x"], "--init: 'x'"),
                                             (1, ["scan", "-o", "not/there"], "not/there: "), (1, ["scan", "-o", "folder"], "is a directory"),
                                             (1, ["scan", "-o", "a.npz"], "a.npz: "), (1, ["scan", "--out-dtype", "f64", "-o", "a.f32"], "promises f32"),
                                             (2, ["histogram", "--bins", "0"], "--bins: '0'"), (1, ["histogram", "--bins", str(2**50)], "fewer"),
                                             (1, ["histogram", "-o", "not/there"], "not/there: "), (1, ["histogram", "-o", "a.gz"], "a.gz: "),
                                             (1, ["histogram", "--text", "-o", "folder"], "is a directory"),
                                             (1, ["reduce", "--target", "cuda"], "standard input: "), (1, ["reduce", "missing"], "missing: "),
                                             (1, ["reduce", "b.npy"], "b.npy: ")):
                if "cuda" in arguments and has_gpu:
                    continue
                with self.subTest(arguments=arguments):
                    files = ["-", arguments.pop()] if arguments[-1] in ("missing", "b.npy") else ["-"]
                    self.assert_fails(status, *arguments, *files, stdin=stalled, tells=tells, timeout=20)
        self.assertEqual(os.listdir(self.path("folder")), [])

    def test_values_that_are_empty(self):
        for command, options in (("reduce", ("--format", "--dtype", "--column", "--delimiter", "--header", "--target", "--threads",
                                             "--gpu-memory", "--op", "--out-dtype", "--axis", "--output")),
                                 ("scan", ("--init", "-o", "--output", "--out-dtype", "--op", "--axis")),
                                 ("histogram", ("--bins", "--range", "--edges", "--group", "-o"))):
            for option in options:
                named = "--output" if option == "-o" else option
                extra = ["--text"] if option == "--group" else []
                self.assert_fails(2, command, *extra, option, "", "-", stdin="1", tells=[named, "empty"])
                self.assert_fails(2, command, *extra, "-", named + "=", stdin="1", tells=[named])
        self.assert_fails(2, "reduce", "", tells=["FILE", "empty"])

    def test_unknown_options_are_named(self):
        for arguments in (["reduce", "-x"], ["reduce", "-x", "-"], ["scan", "--op", "sum", "-x"], ["histogram", "-x", "--bins", "3"]):
            self.assert_fails(2, *arguments, tells=["-x is no option of upsweep " + arguments[0]])
        self.assert_fails(2, "reduce", "--frob=3", tells="--frob")

    def test_numpys_names_of_types(self):
        for name, dtype in (("f8", "f64"), ("<f8", "f64"), ("=f4", "f32"), ("f2", "f16"), ("i4", "i32"), ("<i8", "i64"), ("i8", "i8"),
                            ("|i1", "i8"), ("i2", "i16"), ("u2", "u16"), ("<u8", "u64"), ("u8", "u8"), ("|b1", "bool"), (">u1", "u8"),
                            ("float64", "f64"), ("f64", "f64"), ("u4", "u32")):
            self.assertEqual(self.json("reduce", "--dtype", name, "-", stdin="1")["dtype"], dtype)
        for name in (">f4", ">i8", ">u2"):
            self.assert_fails(2, "reduce", "--dtype", name, "-", tells=[f"--dtype: '{name}' is big-endian", "a.astype"])
        for name in ("<f16", "c8", "<", "<f64", "f3"):
            self.assert_fails(2, "reduce", "--dtype", name, "-", tells=f"--dtype: '{name}' is unknown")

    def test_names_that_would_break_the_line(self):
        self.assert_fails(1, "reduce", "two\nlines", tells="two\\x0alines: ")
        self.assert_fails(1, "reduce", "\x1b[2Jred\x7f\u0085é", tells="\\x1b[2Jred\\x7f\\xc2\\x85é: ")
        self.assert_fails(1, "reduce", b"\xff\x9b\xc3", tells="\\xff\\x9b\\xc3: ")
        self.assert_fails(2, "reduce", "--op", "\x1b[2J", "-", tells="\\x1b[2J")

    def test_help(self):
        top = self.output("--help")
        for command in COMMANDS:
            self.assertIn(command, top)
            text = self.output(command, "--help")
            self.assertIn(f"upsweep {command}", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
        for command in ("reduce", "scan", "histogram", "runs"):
            text = self.output(command, "--help")
            self.assertIn("C order", text) if command != "histogram" else None
            self.assertIn("Examples:", text)

    def test_version_and_info(self):
        version = self.output("--version").split()
        self.assertEqual(version[0], "upsweep")
        info = self.json("info")
        self.assertEqual(list(info), ["command", "version", "cpu_isa", "cpu_threads", "gpu"])
        self.assertEqual(info["version"], version[1])
        self.assertGreaterEqual(info["cpu_threads"], 1)
        for line in ("version", "cpu isa", "cpu threads", "gpu"):
            self.assertIn(line, self.output("info"))


class Companions(CommandTest):
    """The manual and the shells' completions know every option that --help tells."""

    def setUp(self):
        super().setUp()
        self.sources = os.environ["UPSWEEP_CLI_SOURCE"]

    def options(self, command):
        return set(re.findall(r"(?m)^ +(?:-\w,)?(--[\w-]+)", self.output(command, "--help")))

    def read(self, *parts):
        with open(os.path.join(self.sources, *parts)) as file:
            return file.read()

    def test_the_manual(self):
        manual = self.read("upsweep.1").replace("\\-", "-")
        for command in COMMANDS:
            for option in self.options(command):
                self.assertIn(option, manual)
        if os.path.exists("/usr/bin/man"):
            rendered = subprocess.run(["man", "--warnings", "-l", os.path.join(self.sources, "upsweep.1")], capture_output=True,
                                      env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL)
            self.assertEqual((rendered.returncode, rendered.stderr), (0, b""))

    def test_the_completions_name_every_option(self):
        for parts in (("completions", "upsweep.bash"), ("completions", "_upsweep"), ("completions", "upsweep.fish")):
            text = self.read(*parts)
            for command in COMMANDS:
                self.assertIn(command, text)
                for option in self.options(command):
                    written = f"-l {option[2:]}" if parts[-1].endswith("fish") else option
                    self.assertTrue(re.search(re.escape(written) + r"\b", text), (parts, option))

    def completed(self, line):
        script = f"""source {os.path.join(self.sources, "completions", "upsweep.bash")}
            COMP_WORDS=({line}); [[ "{line}" == *" " ]] && COMP_WORDS+=("")
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _upsweep; printf '%s\\n' "${{COMPREPLY[@]}}" """
        run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return set(run.stdout.split())

    def test_bash_completes(self):
        self.assertEqual(self.completed("upsweep "), {*COMMANDS, "--help", "--version"})
        self.assertEqual(self.completed("upsweep red"), {"reduce"})
        self.assertEqual(self.completed("upsweep reduce --op m"), {"min", "max"})
        self.assertEqual(self.completed("upsweep scan --dtype u1"), {"u16"})
        self.assertEqual(self.completed("upsweep histogram --ra"), {"--range"})
        self.assertEqual(self.completed("upsweep reduce --"), self.options("reduce"))
        self.write("data.npy", "")
        self.assertEqual(self.completed("upsweep reduce da"), {"data.npy"})


if __name__ == "__main__":
    unittest.main()
