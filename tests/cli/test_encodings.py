# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Files as strangers send them: compressed, in archives, in other encodings, of other programs, of the kernel's."""
import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import time
import unittest
import zipfile

import numpy as np
from command import CommandTest, npy_bytes, reference_sum, sampled


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "-1"], input=data, stdout=subprocess.PIPE, check=True).stdout


FORMATS = {"gz": (gzip.compress, "gzip"), "xz": (lambda content: lzma.compress(content, preset=0), "xz"), "bz2": (bz2.compress, "bzip2")}
if shutil.which("zstd"):
    FORMATS["zst"] = (zstd, "zstd")


class Compressed(CommandTest):
    def value_both_ways(self, expected, name, content, *options, of_pipe=()):
        self.write(name, content)
        self.assertEqual(self.output("reduce", *options, name), expected)
        self.assertEqual(self.output("reduce", *options, *of_pipe, "-", stdin=content), expected)

    def test_every_format_of_every_kind_of_file(self):
        array = np.random.default_rng(1).normal(size=100_001).astype("f4")
        text = "\n".join(map(repr, array.tolist())).encode()
        table = b"id,value\n" + b"".join(b"%d,%r\n" % (i, v) for i, v in enumerate(array.tolist()))
        for extension, (compress, _) in FORMATS.items():
            for name, content, options, of_pipe in (
                    ("a.npy", npy_bytes(array), (), ()),
                    ("a.f32", array.tobytes(), (), ("--format", "raw", "--dtype", "f32")),
                    ("a.txt", text, ("--dtype", "f32"), ()),
                    ("a.csv", table, ("--dtype", "f32", "--column", "value"), ("--format", "csv"))):
                with self.subTest(extension=extension, name=name):
                    expected = self.output("reduce", *options, self.write(name, content))
                    self.assertEqual(np.float32(expected), reference_sum(array, "f32"))
                    compressed = compress(content)
                    self.value_both_ways(expected, f"{name}.{extension}", compressed, *options, of_pipe=of_pipe)
                    # The bytes tell, not the name.
                    self.assertEqual(self.output("reduce", *options, self.write(name, compressed)), expected)

    def test_the_content_tells_the_format_where_no_extension_does(self):
        for extension, (compress, _) in FORMATS.items():
            self.value_both_ways("6\n", f"numbers.{extension}", compress(b"1 2 3\n"))
            self.value_both_ways("3\n", "numbers", compress(npy_bytes(np.arange(3))))
            self.write(f"t.tsv.{extension}", compress(b"a\tb\n1\t2\n"))
            self.assertEqual(self.output("reduce", "--column", "b", f"t.tsv.{extension}"), "2\n")
        self.write("plain.csv.gz", "a,b\n1,2\n")  # whoever downloaded it had it decompressed
        self.assertEqual(self.output("reduce", "--column", "b", "plain.csv.gz"), "2\n")

    def test_nothing(self):
        for extension, (compress, name) in FORMATS.items():
            self.value_both_ways("0\n", f"a.txt.{extension}", compress(b""))
            self.write(f"empty.txt.{extension}", b"")
            self.assert_fails(1, "reduce", f"empty.txt.{extension}", tells=[f"byte 0: the {name} data is truncated"])

    def test_several_members(self):
        for extension, (compress, _) in FORMATS.items():
            pieces = [compress(b"1\n2"), compress(b""), compress(b"3\n"), compress(b"4\n" * 300_000)]
            self.value_both_ways(f"{1 + 23 + 1_200_000}\n", f"a.txt.{extension}", b"".join(pieces))

    def test_every_truncation_fails(self):
        for extension, (compress, name) in FORMATS.items():
            whole = compress(b"value\n12\n34\n56\n")
            for length in sampled(range(len(whole)), 5):
                with self.subTest(extension=extension, length=length):
                    self.write(f"a.csv.{extension}", whole[:length])
                    self.assert_fails(1, "reduce", f"a.csv.{extension}",
                                      tells=[f"a.csv.{extension}: byte {length}: the {name} data is truncated"])
            for length in (len(whole) - 1, len(whole) // 2, 5):
                self.assert_fails(1, "reduce", "--format", "csv", "-", stdin=whole[:length],
                                  tells=[f"standard input: byte {length}: the {name} data is truncated"])

    def test_flipped_bytes_fail(self):
        for extension, (compress, name) in FORMATS.items():
            whole = compress(b"12\n34\n56\n" * 20)
            # After the magic bytes, and after the fields of the header of gzip that nothing protects.
            for at in sampled(range(10 if extension in ("gz", "bz2") else 6, len(whole)), 5):
                with self.subTest(extension=extension, at=at):
                    spoiled = bytearray(whole)
                    spoiled[at] ^= 0x10
                    self.write(f"a.txt.{extension}", bytes(spoiled))
                    self.assert_fails(1, "reduce", f"a.txt.{extension}", tells=[f"a.txt.{extension}: byte ", name])

    def test_what_follows(self):
        for extension, (compress, name) in FORMATS.items():
            whole = compress(b"1 2 3\n")
            for tail in (b"x", b"\n", whole[:3]):
                self.write(f"a.txt.{extension}", whole + tail)
                self.assert_fails(1, "reduce", f"a.txt.{extension}", tells=[f"a.txt.{extension}: byte ", name])
        padded = gzip.compress(b"1 2 3\n") + b"\0" * 100_000
        self.value_both_ways("6\n", "a.txt.gz", padded)
        self.write("a.txt.gz", padded + gzip.compress(b"4\n"))
        self.assert_fails(1, "reduce", "a.txt.gz", tells="something else follows the gzip data")

    def test_no_more_than_a_little_memory(self):
        for extension, (compress, _) in FORMATS.items():
            self.write(f"a.txt.{extension}", compress(b"0.5\n" * (1 << 20)) * 16)  # 64 MiB
            before = self.peak_of("reduce", self.write("small.txt", b"1"))
            peak = self.peak_of("reduce", f"a.txt.{extension}")
            self.assertLess(peak - before, 40 << 10, extension)  # KiB

    def peak_of(self, *arguments):
        process = self.start(*arguments, "--threads", "2", stdout=subprocess.PIPE)
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_a_reader_that_stops_early_ends_all(self):
        content = gzip.compress(b"x\n" + b"0.5\n" * (64 << 20), 1)
        self.write("a.txt.gz", content)
        begin = time.monotonic()
        self.assert_fails(1, "reduce", "a.txt.gz", tells="'x' is not a number")
        self.assertLess(time.monotonic() - begin, 0.5)

    def test_a_file_is_read_twice_for_a_range(self):
        values = np.arange(200_001.0)
        expected = None
        for name, content in (("a.npy", npy_bytes(values)), ("a.npy.gz", gzip.compress(npy_bytes(values), 1)),
                              ("a.txt.gz", gzip.compress("\n".join(map(str, values)).encode(), 1)),
                              ("a.txt", "\n".join(map(str, values)).encode("utf-16"))):
            counts = self.output("histogram", "--bins", "4", self.write(name, content))
            expected = expected or counts
            self.assertEqual(counts, expected)
        self.assertEqual(self.json("histogram", "-", stdin=gzip.compress(b"1 2 3"))["range"], [1, 3])

    def test_elements_that_need_a_mapping(self):
        array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
        self.write("a.npy.gz", gzip.compress(npy_bytes(array)))
        self.assert_fails(1, "reduce", "a.npy.gz", tells=["a.npy.gz: a Fortran-ordered array", "decompress it"])

    def test_letters(self):
        self.write("book.txt.gz", gzip.compress(b"abc abc\n" * 1000))
        self.assertEqual(self.json("histogram", "--text", "--group", "1", "book.txt.gz")["counts"][:4],
                         [2000, 2000, 2000, 0])


class Archives(CommandTest):
    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def archive(self, name, members, **keywords):
        with zipfile.ZipFile(self.path(name), "w", **keywords) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return name

    def test_one_array(self):
        array = np.random.default_rng(2).normal(size=200_001)
        for save in (np.savez, np.savez_compressed):
            save(self.path("one.npz"), array)
            self.assertEqual(float(self.output("reduce", "one.npz")), float(reference_sum(array, "f64")))
            save(self.path("two.npz"), x=array, y=np.arange(4))
            self.assert_fails(1, "reduce", "two.npz", tells=["two.npz: holds 2 files: 'x.npy', 'y.npy'", "two.npz:x.npy"])
            for member in ("two.npz:y", "two.npz:y.npy"):
                self.assertEqual(self.output("reduce", member), "6\n")
            self.assert_fails(1, "reduce", "two.npz:z", tells=["two.npz: no 'z' in this zip archive", "'x.npy', 'y.npy'"])
        with open(self.path("one.npz"), "rb") as file:
            self.assertEqual(float(self.output("reduce", "-", stdin=file)), float(reference_sum(array, "f64")))
        self.assert_fails(1, "reduce", "-", stdin=self.content("one.npz"),
                          tells=["standard input: is a zip archive", "from a file alone"])

    def test_files_of_any_kind(self):
        self.archive("t.zip", {"folder/": "", "folder/t.csv": "a,b\n1,2\n3,4\n", "__MACOSX/t.csv": "?"},
                     compression=zipfile.ZIP_DEFLATED)
        self.assertEqual(self.output("reduce", "--column", "b", "t.zip"), "6\n")
        self.archive("r.zip", {"x.f32": np.arange(4, dtype="f4").tobytes(), "a:b.txt": "1 2"})
        self.assertEqual(self.output("reduce", "r.zip:x.f32"), "6\n")
        self.assertEqual(self.output("reduce", "r.zip:a:b.txt"), "3\n")
        self.write("r.zip:x.f32", np.ones(2, "f4").tobytes())  # a file of that very name comes first
        self.assertEqual(self.output("reduce", "r.zip:x.f32"), "2\n")
        self.archive("g.zip", {"x.txt.gz": gzip.compress(b"1 2")})
        self.assertEqual(self.output("reduce", "g.zip"), "3\n")
        self.archive("many.zip", {f"{i}.txt": "1" for i in range(30)})
        self.assert_fails(1, "reduce", "many.zip", tells=["holds 30 files", "'9.txt' and 20 more"])

    def test_zip64(self):
        with zipfile.ZipFile(self.path("a.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("a.txt", "w", force_zip64=True) as member:
                member.write(b"1 2 3")
        self.assertEqual(self.output("reduce", "a.zip"), "6\n")
        # The directory's numbers moved to ZIP64 records, as beyond four gigabytes.
        content = self.content("a.zip")
        entry = content.index(b"PK\x01\x02")
        end = content.index(b"PK\x05\x06")
        stored, size = struct.unpack_from("<II", content, entry + 20)
        extra = struct.pack("<HHQQQ", 1, 24, size, stored, 0)
        head = bytearray(content[entry:entry + 46])
        struct.pack_into("<II", head, 20, 2**32 - 1, 2**32 - 1)
        struct.pack_into("<H", head, 30, len(extra))
        struct.pack_into("<I", head, 42, 2**32 - 1)
        directory = bytes(head) + b"a.txt" + extra
        wide_end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(directory), entry)
        locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, entry + len(directory), 1)
        last = bytearray(content[end:])
        struct.pack_into("<HHII", last, 8, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1)
        self.write("b.zip", content[:entry] + directory + wide_end + locator + bytes(last))
        self.assertEqual(self.output("reduce", "b.zip"), "6\n")

    def test_damage(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.archive("a.zip", {"a.txt": "1 2 3\n" * 50}, compression=method)
            whole = self.content("a.zip")
            for length in sampled(range(4, len(whole)), 30):
                self.write("b.zip", whole[:length])
                self.assert_fails(1, "reduce", "b.zip", tells=["b.zip: byte ", "zip archive"])
            begin = 30 + len("a.txt")
            for at in sampled(range(begin, whole.index(b"PK\x01\x02")), 30):
                spoiled = bytearray(whole)
                spoiled[at] ^= 0x01
                self.write("b.zip", bytes(spoiled))
                process = self.run_command("reduce", "b.zip")
                self.assertEqual((process.returncode, process.out), (1, b""), at)

    def test_what_is_refused(self):
        self.archive("empty.zip", {})
        self.assert_fails(1, "reduce", "empty.zip", tells="without files")
        self.archive("b.zip", {"a.txt": "1"}, compression=zipfile.ZIP_BZIP2)
        self.assert_fails(1, "reduce", "b.zip", tells=["'a.txt'", "method 12", "extract it"])
        content = bytearray(self.content(self.archive("e.zip", {"a.txt": "1"})))
        content[content.index(b"PK\x01\x02") + 8] |= 1
        self.write("e.zip", bytes(content))
        self.assert_fails(1, "reduce", "e.zip", tells=["'a.txt'", "encrypted"])
        self.archive("t.xlsx", {"[Content_Types].xml": "", "xl/workbook.xml": ""})
        self.assert_fails(1, "reduce", "t.xlsx", tells=["Excel", "read_excel", "as CSV"])
        self.write("plain.txt", "1")
        self.assert_fails(1, "reduce", "plain.txt:a", tells=["plain.txt", "zip archive"])


class Encodings(CommandTest):
    def both_ways(self, content, *options):
        self.write("a.csv", content)
        of_file = self.json("reduce", *options, "a.csv")
        of_pipe = self.json("reduce", *options, "--format", "csv", "-", stdin=content)
        self.assertEqual((of_file["count"], of_file["result"]), (of_pipe["count"], of_pipe["result"]))
        return of_file["count"], of_file["result"]

    def test_utf16(self):
        table = "naïve €,𝄞 value\r\n" + "".join(f"é,{i}\r\n" for i in range(200_000)) + "𝄞,0.5\n"
        for mark, code in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
            content = mark + table.encode(code)
            self.assertEqual(self.both_ways(content, "--column", "𝄞 value", "--dtype", "f64"), (200_001, sum(range(200_000)) + 0.5))
            self.write("a.csv.gz", gzip.compress(content, 1))
            self.assertEqual(self.json("reduce", "--column", "2", "a.csv.gz")["count"], 200_001)
            self.write("a", mark + "1 2\n3".encode(code))  # no extension tells
            self.assertEqual(self.output("reduce", "a"), "6\n")
            self.write("a.csv", mark + "a\n1\nx\n".encode(code))
            self.assert_fails(1, "reduce", "a.csv", tells=["a.csv: line 3", "'x'"])
        self.write("empty.txt", b"\xff\xfe")
        self.assertEqual(self.output("reduce", "empty.txt"), "0\n")

    def test_utf16_that_is_broken(self):
        for content, byte, reason in ((b"\xff\xfe1\0002\0003", 6, "inside a character"),
                                      (b"\xff\xfe1\000\x00\xd8", 4, "lone surrogate"),
                                      (b"\xff\xfe1\000\x00\xd81\0", 4, "lone surrogate"),
                                      (b"\xff\xfe1\000\x00\xdc1\0", 4, "lone surrogate"),
                                      (b"\xff\xfe" + b"1\0" * 100_000 + b"\0\xdc", 200_002, "lone surrogate")):
            self.write("a.txt", content)
            self.assert_fails(1, "reduce", "a.txt", tells=[f"a.txt: byte {byte}: ", reason])

    def test_elements_are_no_text(self):
        values = np.array([-2, 5, 7, 1024], "i2")  # of which the first is a byte order mark
        self.write("a", values.tobytes())
        self.assertEqual(self.output("reduce", "--dtype", "i16", "a"), "1034\n")
        self.write("b", np.arange(100, dtype="u2").tobytes())
        self.assertEqual(self.output("reduce", "--dtype", "u16", "b"), "4950\n")

    def test_other_encodings_tell_the_remedy(self):
        for code, encoding in (("utf-32", "UTF-32"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")):
            for name in ("a.csv", "a.txt", "a"):
                self.write(name, "a,b\n1,2\n".encode(code))
                self.assert_fails(1, "reduce", name, tells=[f"{name}: is text in UTF-", f"iconv -f {encoding} -t UTF-8 {name}"])
            self.assert_fails(1, "reduce", "--format", "csv", "-", stdin="1\n".encode(code),
                              tells=f"iconv -f {encoding} -t UTF-8 FILE")

    def test_carriage_returns_alone(self):
        table = "id,\"a\rnote\",value\r" + "".join(f"{i},\"x\ry\",{i}\r" for i in range(100_000))
        for content in (table.encode(), b"\xff\xfe" + table.encode("utf-16-le")):
            self.assertEqual(self.both_ways(content, "--column", "value"), (100_000, sum(range(100_000))))
        self.write("a.csv.xz", lzma.compress(table.encode(), preset=0))
        self.assertEqual(self.json("reduce", "--column", "value", "a.csv.xz")["count"], 100_000)
        self.write("a.txt", "1\r2\rx\r")
        self.assert_fails(1, "reduce", "a.txt", tells="a.txt: line 3")
        # A CR at the end of what is looked at may begin a CRLF.
        header = "x" * ((1 << 16) - 1)
        self.assertEqual(self.both_ways(f"{header}\r\n1\r\n".encode()), (1, 1))


class Foreign(CommandTest):
    def test_formats_are_named(self):
        body = bytes(range(256)) * 4
        for name, content, what, remedy in (
                ("a.parquet", b"PAR1" + body + b"PAR1", "Parquet", "read_parquet('a.parquet')"),
                ("a.feather", b"ARROW1\0\0" + body, "Arrow", "read_feather('a.feather')"),
                ("a.feather", b"FEA1" + body, "Feather", "read_feather"),
                ("a.h5", b"\x89HDF\r\n\x1a\n" + body, "HDF5", "h5py.File('a.h5')"),
                ("a.sqlite", b"SQLite format 3\0" + body, "SQLite", "sqlite3 -csv 'a.sqlite'"),
                ("a.pdf", b"%PDF-1.7\n", "PDF", "pdftotext -layout 'a.pdf'"),
                ("a.tar", b"x" * 257 + b"ustar\0" + body, "tar archive", "tar -xf 'a.tar'")):
            for options in ((), ("--dtype", "f32"), ("--format", "csv")):
                self.write(name, content)
                self.assert_fails(1, "reduce", *options, name, tells=[f"{name}: ", what, remedy])
                self.assert_fails(1, "reduce", *options, "-", stdin=content, tells=["standard input: ", what, "'FILE'"])
            self.write("a.gz", gzip.compress(content))
            self.assert_fails(1, "reduce", "a.gz", tells=["a.gz: ", what])
            # Whoever says so has raw elements.
            self.write("a.bin", content)
            self.assertEqual(self.output("reduce", "--dtype", "u8", "a.bin"), f"{sum(content)}\n")
        self.write("t.csv", "PAR1,FEA1\n1,2\n")
        self.assertEqual(self.output("reduce", "--column", "PAR1", "t.csv"), "1\n")

    def test_compressed_twice(self):
        self.write("a.txt.gz", gzip.compress(gzip.compress(b"1")))
        self.assert_fails(1, "reduce", "a.txt.gz", tells="compressed twice")


class OfTheKernel(CommandTest):
    def test_files_that_cannot_be_mapped(self):
        for path in ("/sys/devices/system/cpu/kernel_max", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
                     "/proc/sys/kernel/pid_max", "/proc/sys/vm/overcommit_ratio"):
            if not os.access(path, os.R_OK):
                continue
            with open(path, encoding="ascii") as file:
                value = file.read()
            with self.subTest(path=path):
                self.assertEqual(self.output("reduce", path), f"{int(value)}\n")
                with open(path, "rb") as file:
                    self.assertEqual(self.output("reduce", "-", stdin=file), f"{int(value)}\n")


if __name__ == "__main__":
    unittest.main()
