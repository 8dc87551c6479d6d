# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reading raw elements, and telling formats apart."""
import unittest

import numpy as np
from command import CommandTest, reference_sum


class Raw(CommandTest):
    def test_every_dtype_from_file_and_pipe(self):
        for name, code in (("i8", "i1"), ("i16", "i2"), ("i32", "i4"), ("i64", "i8"), ("u8", "u1"), ("u16", "u2"),
                           ("u32", "u4"), ("u64", "u8"), ("f16", "f2"), ("f32", "f4"), ("f64", "f8")):
            array = np.random.default_rng(3).integers(0, 100, size=123_457).astype(code)
            self.write("a.bin", array.tobytes())
            expected = float(reference_sum(array, name))
            for arguments, stdin in ((["a.bin"], b""), (["--format", "raw", "-"], array.tobytes())):
                with self.subTest(dtype=name, arguments=arguments):
                    result = self.json("reduce", "--dtype", name, *arguments, stdin=stdin)
                    self.assertEqual((result["count"], float(result["result"])), (array.size, expected))

    def test_bf16(self):
        values = np.array([1.5, -2, 100, 0.0078125], "f4")
        self.write("a.bin", (values.view("u4") >> 16).astype("u2").tobytes())
        self.assertEqual(np.float32(self.output("reduce", "--dtype", "bf16", "a.bin")), values.sum())

    def test_the_extension_may_name_the_type(self):
        self.write("a.f32", np.arange(10, dtype="f4").tobytes())
        self.assertEqual(self.output("reduce", "a.f32"), "45\n")
        self.write("a.int16", np.arange(10, dtype="i2").tobytes())
        self.assertEqual(self.output("reduce", "a.int16"), "45\n")

    def test_a_dtype_that_differs_from_the_extension(self):
        self.write("a.f32", np.arange(10, dtype="f4").tobytes())
        for arguments in (["reduce"], ["scan"], ["histogram"]):
            self.assert_fails(1, *arguments, "--dtype", "f64", "a.f32",
                              tells=["a.f32: holds f32 by its name, not f64", "leave out --dtype", "--format raw"])
        self.assertEqual(self.output("reduce", "--dtype", "f32", "a.f32"), "45\n")
        self.assertEqual(self.json("reduce", "--format", "raw", "--dtype", "f64", "a.f32")["count"], 5)
        self.assertEqual(self.json("histogram", "--text", "a.f32")["count"], 40)

    def test_content_that_is_no_text_needs_a_dtype(self):
        content = np.arange(10, dtype="i4").tobytes()
        self.write("a", content)
        self.assert_fails(1, "reduce", "a", tells=["a: ", "--dtype"])
        self.assert_fails(1, "reduce", "-", stdin=content, tells=["standard input: ", "--dtype"])
        self.assertEqual(self.output("reduce", "--dtype", "i32", "a"), "45\n")
        self.assertEqual(self.output("reduce", "--dtype", "i32", "-", stdin=content), "45\n")

    def test_the_format_can_be_forced(self):
        self.write("text", "1234")
        self.assertEqual(self.output("reduce", "text"), "1234\n")
        self.assertEqual(self.output("reduce", "--format", "raw", "--dtype", "u8", "text"), str(sum(b"1234")) + "\n")
        self.write("a.npy", "1 2 3")
        self.assertEqual(self.output("reduce", "--format", "text", "a.npy"), "6\n")

    def test_a_length_that_is_no_multiple(self):
        self.write("a.raw", b"\0" * 1001)
        self.assert_fails(1, "reduce", "--dtype", "f32", "a.raw", tells=["a.raw: byte 1001", "inside an element of 4 bytes"])
        self.assert_fails(1, "reduce", "--dtype", "f32", "--format", "raw", "-", stdin=b"\0" * 1001,
                          tells=["standard input: byte 1001", "inside an element"])

    def test_empty_input(self):
        self.write("empty.raw", b"")
        self.write("empty", b"")
        for arguments in (["--dtype", "f32", "empty.raw"], ["--dtype", "i64", "--format", "raw", "-"], ["empty"], ["-"]):
            self.assertEqual(self.output("reduce", *arguments), "0\n")
            self.assertEqual(self.output("reduce", "--op", "product", *arguments), "1\n")
            self.assertEqual(self.output("scan", *arguments), "")
            self.assert_fails(1, "reduce", "--op", "max", *arguments,
                              tells="standard input: " if arguments[-1] == "-" else arguments[-1] + ": ")

    def test_standard_input_from_where_the_shell_left_it(self):
        self.write("a.bin", np.arange(100, dtype="i4").tobytes())
        with open(self.path("a.bin"), "rb", buffering=0) as file:
            file.seek(396)
            self.assertEqual(self.output("reduce", "--dtype", "i32", "-", stdin=file), "99\n")

    def test_files_that_cannot_be_read(self):
        self.assert_fails(1, "reduce", "missing.npy", tells=["missing.npy: ", "No such file"])
        self.assert_fails(1, "reduce", ".", tells=[".: is a directory"])
        self.write("good.npy", np.arange(3))
        self.assert_fails(1, "reduce", "good.npy", "missing.npy", tells="missing.npy: ")


if __name__ == "__main__":
    unittest.main()
