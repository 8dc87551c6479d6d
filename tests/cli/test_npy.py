# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reading .npy files: what NumPy writes, and what must be refused."""
import os
import struct
import unittest

import numpy as np
from command import CommandTest, npy_bytes, reference_sum

DTYPES = {"bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4",
          "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}


def samples(code, count, seed=1):
    random = np.random.default_rng(seed)
    if np.dtype(code).kind == "f":
        return (random.normal(size=count) * 2.0 ** random.integers(-8, 8, size=count)).astype(code)
    if code == "?":
        return random.integers(0, 2, size=count).astype(code)
    info = np.iinfo(code)
    return random.integers(info.min, info.max, size=count, dtype=code, endpoint=True)


def expected_sum(array, name):
    with np.errstate(over="ignore"):
        return reference_sum(array.astype(array.dtype.newbyteorder("=")), name)


def with_header(header, version=(1, 0), data=b""):
    """A file with a header of one's own, padded as NumPy does."""
    if isinstance(header, str):
        header = header.encode()
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header + data


class Reading(CommandTest):
    def check(self, array, name, content=None):
        content = npy_bytes(array) if content is None else content
        self.write("a.npy", content)
        expected = expected_sum(array, name)
        for arguments, stdin in ((["a.npy"], b""), (["-"], content)):
            with self.subTest(dtype=array.dtype, arguments=arguments):
                result = self.json("reduce", *arguments, stdin=stdin)
                self.assertEqual((result["dtype"], result["count"]), (name, array.size))
                if array.dtype.kind in "iu":
                    self.assertEqual(result["result"], sum(array.ravel().tolist()))
                else:
                    self.assertEqual(type(expected)(result["result"]).tobytes(), expected.tobytes())

    def test_every_dtype_in_both_byte_orders(self):
        for name, code in DTYPES.items():
            array = samples(code, 300_001)
            self.check(array, name)
            if array.itemsize > 1:
                self.check(array.astype(array.dtype.newbyteorder(">")), name)

    def test_versions(self):
        array = samples("f4", 1000)
        for version in ((1, 0), (2, 0), (3, 0)):
            self.check(array, "f32", npy_bytes(array, version))

    def test_fortran_order_gives_the_bits_of_c_order(self):
        for shape in ((700, 900), (3, 200_001), (200_001, 3), (1, 5000), (40, 50, 60), (5, 1, 7, 3), (2, 3, 0), (17,)):
            for order in "<>":
                c_order = samples("f4", int(np.prod(shape))).reshape(shape).astype(order + "f4")
                self.write("c.npy", c_order)
                self.write("f.npy", np.asfortranarray(c_order))
                with self.subTest(shape=shape, order=order):
                    self.output("scan", "c.npy", "-o", "c.out.npy")
                    self.output("scan", "f.npy", "-o", "f.out.npy")
                    np.testing.assert_array_equal(np.load(self.path("f.out.npy")).view("u4"),
                                                  np.load(self.path("c.out.npy")).view("u4"))
                    values = c_order.ravel().astype("=f4")
                    if values.size:
                        self.assertEqual(np.float32(self.output("reduce", "f.npy")), expected_sum(values, "f32"))

    def test_fortran_order_of_every_size_of_element(self):
        for code in ("u1", "u2", "u4", "u8"):
            array = samples(code, 77 * 1031).reshape(77, 1031)
            self.write("f.npy", np.asfortranarray(array))
            self.output("scan", "--op", "xor", "f.npy", "-o", "out.npy")
            np.testing.assert_array_equal(np.load(self.path("out.npy")), np.bitwise_xor.accumulate(array.ravel()))

    def test_fortran_order_through_a_pipe_is_refused_and_through_a_redirection_is_not(self):
        array = np.asfortranarray(samples("f8", 600).reshape(20, 30))
        self.assert_fails(1, "reduce", "-", stdin=npy_bytes(array), tells=["standard input: ", "Fortran", "name the file"])
        self.write("f.npy", array)
        with open(self.path("f.npy"), "rb") as file:
            self.assertEqual(float(self.output("reduce", "-", stdin=file)), expected_sum(array, "f64"))

    def test_scalars_and_empty_arrays(self):
        self.check(np.array(2.5), "f64")
        for shape in ((0,), (0, 3), (3, 0)):
            self.write("a.npy", np.zeros(shape, "f4"))
            self.assertEqual(self.output("reduce", "a.npy"), "0\n")
            self.assert_fails(1, "reduce", "--op", "min", "a.npy", tells="a.npy: ")

    def test_bytes_of_bool_other_than_one_are_true(self):
        self.write("b.npy", npy_bytes(np.array([True, False, True])).replace(b"\x01\x00\x01", b"\x02\x00\xff"))
        self.assertEqual(self.output("reduce", "b.npy"), "2\n")

    def test_content_counts_where_the_extension_tells_nothing(self):
        self.write("array", np.arange(10))
        self.assertEqual(self.output("reduce", "array"), "45\n")

    def test_elements_that_are_not_aligned(self):
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}"
        self.write("a.npy", with_header(header, data=np.array([1.5, 2, 3]).tobytes()))
        self.assertNotEqual((10 + len(header)) % 8, 0)
        self.assertEqual(self.output("reduce", "a.npy"), "6.5\n")

    def test_headers_that_python_would_read_too(self):
        data = np.arange(3, dtype="<i4").tobytes()
        for header in ("{'descr':'<i4','fortran_order':False,'shape':(3,)}",
                       '{ "shape" : ( 3L , ) ,\n "fortran_order" : True , "descr" : "<i4" , }   \n',
                       "{'descr': '=i4', 'fortran_order': False, 'shape': (1, 3, 1,)}"):
            self.write("a.npy", with_header(header, data=data))
            self.assertEqual(self.output("reduce", "a.npy"), "3\n", header)

    def test_several_files_are_one_array(self):
        array = samples("f4", 100_003)
        pieces = np.split(array, [1, 777, 50_000])
        names = [self.write(f"{i}.npy", piece) for i, piece in enumerate(pieces)]
        self.assertEqual(np.float32(self.output("reduce", *names)), expected_sum(array, "f32"))
        self.output("scan", *names, "-o", "pieces.npy")
        self.write("whole.npy", array)
        self.output("scan", "whole.npy", "-o", "one.npy")
        np.testing.assert_array_equal(np.load(self.path("pieces.npy")).view("u4"), np.load(self.path("one.npy")).view("u4"))

    def test_a_file_beyond_four_gigabytes(self):
        count = 2**32 + 1000
        with open(self.path("large.npy"), "wb") as file:  # of zeros that take no room on the disk
            file.write(with_header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count},)}}"))
            file.truncate(file.tell() + count)
            file.seek(-3, os.SEEK_END)
            file.write(b"\x01\x02\x03")
        result = self.json("reduce", "large.npy")
        self.assertEqual((result["count"], result["result"]), (count, 6))


class Refusing(CommandTest):
    def refuse(self, content, *tells):
        self.write("a.npy", content)
        self.assert_fails(1, "reduce", "a.npy", tells=["a.npy: ", *tells])
        self.assert_fails(1, "reduce", "--format", "npy", "-", stdin=content, tells=["standard input: "])

    def test_foreign_files(self):
        self.refuse(b"\x7fELF something else entirely", "byte 0", "not a .npy file")
        self.refuse(b"1 2 3\n", "byte 0", "not a .npy file")

    def test_truncated_files(self):
        whole = npy_bytes(np.arange(1000.0))
        for length in (7, 9, 60):
            self.refuse(whole[:length], f"byte {length}", "ends inside its header")
        self.refuse(whole[:-1], f"byte {len(whole) - 1}", "truncated", "8000 bytes", "7999")
        self.refuse(whole[:128], "byte 128", "truncated")

    def test_more_than_the_header_tells(self):
        self.refuse(npy_bytes(np.arange(10.0)) + b"x", "byte 208", "follow")

    def test_header_length_beyond_the_file(self):
        self.refuse(b"\x93NUMPY\x01\x00\xff\xff{'descr': '<f8'", "ends inside its header", "65545")
        self.refuse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': '<f8'", "4294967295", "not credible")

    def test_unknown_versions(self):
        for version in ((0, 0), (1, 1), (4, 0)):
            self.refuse(with_header("{}", version), "byte 6", f"version {version[0]}.{version[1]}")

    def test_malformed_headers(self):
        good = "{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}"
        self.write("a.npy", with_header(good))
        self.assertEqual(self.output("reduce", "a.npy"), "0\n")
        for bad in ("", "{", "{}", "[]", good[:-1], good + "x", good + good, good.replace("'<f8'", "f8"),
                    good.replace("False", "0"), good.replace("False", "false"), good.replace("(0,)", "(0)"),
                    good.replace("(0,)", "[0]"), good.replace("(0,)", "(-1,)"), good.replace("(0,)", "(1.0,)"),
                    good.replace("(0,)", "(,)"), good.replace("(0,)", "(0,,)"), good.replace("(0,)", "(0, 1"),
                    good.replace("descr", "dtype"), good.replace("shape", "descr"), good.replace("'", "\x00"),
                    good.replace("'descr': '<f8', ", ""), good.replace("<f8", "<f8\\n"), "{'descr'" * 100,
                    good.replace("'<f8'", "[" * 100), good.replace("(0,)", "(99999999999999999999,)")):
            with self.subTest(header=bad):
                self.refuse(with_header(bad), "byte ", "header is malformed")

    def test_shapes_that_cannot_be(self):
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"
        self.refuse(with_header(header), "2^63")
        self.refuse(with_header(header.replace("(4294967296, 4294967296)", "(1152921504606846976,)")), "2^63")
        self.refuse(with_header(header.replace("(4294967296, 4294967296)", "(1000000000000,)")), "truncated")

    def test_types_that_are_not_numbers(self):
        for array, code, remedy in ((np.zeros(3, "c16"), "<c16", "a.real"), (np.zeros(3, "U5"), "<U5", "astype"),
                                    (np.zeros(3, "S5"), "|S5", "astype"), (np.zeros(3, "M8[s]"), "<M8[s]", "astype('i8')"),
                                    (np.zeros(3, "m8[ms]"), "<m8[ms]", "astype('i8')"), (np.zeros(3, "V4"), "|V4", "astype"),
                                    (np.zeros(3, "g"), "<f16", "astype")):
            self.refuse(npy_bytes(array), f"'{code}'", "not supported", remedy)
        self.refuse(npy_bytes(np.zeros(3, [("x", "f4"), ("y", "i4", (2,))])), "[('x', '<f4')", "not supported", "one field")
        self.refuse(with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", data=b"pickle"), "'|O'", "astype")

    def test_dtype_that_differs(self):
        self.write("a.npy", np.zeros(3, "f4"))
        self.assert_fails(1, "reduce", "--dtype", "f64", "a.npy", tells=["a.npy: holds f32, not f64"])
        self.write("b.npy", np.zeros(3, "i4"))
        self.assert_fails(1, "reduce", "a.npy", "b.npy", tells=["b.npy: holds i32", "a.npy holds f32"])

    def test_column_of_what_is_no_table(self):
        self.write("a.npy", np.zeros(3, "f4"))
        self.assert_fails(1, "reduce", "--column", "x", "a.npy", tells=["a.npy: is no table", "'x'"])


if __name__ == "__main__":
    unittest.main()
