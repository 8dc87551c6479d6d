# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reading a column of a CSV table, against Python's csv module."""
import csv
import io
import json
import random
import unittest

import numpy as np
from command import CommandTest, reference_sum


class Column(CommandTest):
    def column(self, text, *options, name="t.csv"):
        """The column as text, from a file; a pipe must give the same."""
        self.write(name, text)
        from_file = self.output("scan", "--op", "sum", *options, "--json", name)
        from_pipe = self.output("scan", "--op", "sum", *options, "--format", "csv", "--json", "-", stdin=text)
        values = [json.loads(x)["values"] for x in (from_file, from_pipe)]
        self.assertEqual(*values)
        return np.diff(values[0], prepend=0).tolist()

    def test_by_name_and_by_position(self):
        table = "name,price,count\napple,1.5,3\npear,2,10\n"
        for options, expected in ((["--column", "price"], [1.5, 2]), (["--column", "2"], [1.5, 2]),
                                  (["--column", "count"], [3, 10]), (["--column", "3"], [3, 10])):
            self.assertEqual(self.column(table, *options), expected)

    def test_without_a_header(self):
        self.assertEqual(self.column("1,10\n2,20\n", "--column", "2"), [10, 20])
        self.assertEqual(self.column("1,10\n2,20", "--column", "1"), [1, 2])

    def test_one_column_needs_no_name(self):
        self.assertEqual(self.column("price\n1\n2\n"), [1, 2])
        self.assertEqual(self.column("1\n2\n"), [1, 2])

    def test_names_that_look_like_numbers(self):
        table = "country,2019,2020\nnorway,5,6\n"
        self.assertEqual(self.column(table, "--column", "2020"), [6])
        self.assertEqual(self.column(table, "--column", "3", "--header", "yes"), [6])
        self.assertEqual(self.column(table, "--column", "3"), [6])
        self.assertEqual(self.column(table.replace("norway,5", "1,5"), "--column", "3"), [6])
        self.assertEqual(self.column("2019,2020\n1.5,2.5\n", "--column", "2"), [2.5])
        self.assertEqual(self.column("2019\n2020\n2021\n"), [2019, 2020, 2021])
        self.assertEqual(self.column("norway,5,6\nsweden,7,8\n", "--column", "3"), [6, 8])
        self.assertEqual(self.column("1\n2\n", "--header", "no"), [1, 2])

    def test_line_ends_and_blank_lines(self):
        for end in ("\n", "\r\n"):
            table = end.join(["", "a,b", "", "1,2", "", "", "3,4", ""])
            self.assertEqual(self.column(table, "--column", "b"), [2, 4])
            self.assertEqual(self.column(table.strip(), "--column", "a"), [1, 3])

    def test_lines_of_spaces_are_blank(self):
        for delimiter in (",", ";", "|", " ", "\t"):
            table = "   \na,b\n  \n1,2\n \r\n3,4\n   ".replace(",", delimiter)
            self.write("t.csv", table)
            result = self.json("reduce", "--column", "b", "t.csv")
            self.assertEqual((result["delimiter"], result["header"], result["count"], result["result"], result["missing"]),
                             (delimiter, True, 2, 6, 0), delimiter)
        self.write("t.csv", "a,b\n1,2\n  \n3,x\n")
        self.assert_fails(1, "reduce", "--column", "b", "t.csv", tells="t.csv: line 4: 'x'")
        self.write("t.tsv", "a\tb\n1\t2\n\t\n3\t4\n")
        self.assertEqual(self.json("reduce", "--column", "b", "t.tsv")["missing"], 1)

    def test_quotes(self):
        table = ('id,"the ""price"", in €\nwith tax",note\r\n'
                 '1,"10","a, b"\r\n"2",20,"line one\r\nline two"\r\n3,"30","she said ""no"""\r\n4,40,5" pipe\r\n')
        self.assertEqual(self.column(table, "--column", 'the "price", in €\nwith tax'), [10, 20, 30, 40])
        self.assertEqual(self.column(table, "--column", "id"), [1, 2, 3, 4])

    def test_spaces_around_numbers(self):
        self.assertEqual(self.column('a,b\n 1 , 2\n\t3\t," 4 "\n', "--column", "a"), [1, 3])
        self.assertEqual(self.column('a,b\n 1 , 2\n\t3\t," 4 "\n', "--column", "b"), [2, 4])

    def test_delimiters(self):
        self.assertEqual(self.column("a;b\n1;2\n", "--column", "b", "--delimiter", ";"), [2])
        self.assertEqual(self.column("a\tb\n1\t2\n", "--column", "b", "--delimiter", "tab"), [2])
        self.write("t.tsv", "a\tb\n1\t2\n")
        self.assertEqual(self.output("reduce", "--column", "b", "t.tsv"), "2\n")

    def test_numbers_of_every_spelling(self):
        self.assertEqual(self.column('x\n0x10\n"1e2"\n+3\n-.5\n'), [16, 100, 3, -0.5])

    def test_a_byte_order_mark(self):
        self.assertEqual(self.column(b"\xef\xbb\xbfa,b\n1,2\n", "--column", "a"), [1])

    def test_empty_fields(self):
        table = 'a,b\n1,2\n,3\n"",4\n  ,5\n6,\n'
        self.assertEqual(self.column(table, "--column", "a"), [1, 6])
        self.write("t.csv", table)
        none = ["reduce", "--missing", "none", "t.csv", "--column"]
        self.assert_fails(1, *none, "a", tells=["t.csv: line 3: column 1 is empty", "--missing"])
        self.assert_fails(1, *none, "b", tells=["t.csv: line 6: column 2 is empty"])

    def test_missing_values_are_counted(self):
        words = ["", "NA", "N/A", "null", "NULL", "nan", "NaN", "-", "None", "#N/A", "<NA>", '""', '"NA"']
        table = "a,b\n" + "".join(f"{k},{word}\n{k},{k}.5\n" for k, word in enumerate(words))
        self.write("t.csv", table)
        expected = sum(k + 0.5 for k in range(len(words)))
        result = self.json("reduce", "--column", "b", "t.csv")
        self.assertEqual((result["result"], result["count"], result["missing"]), (expected, len(words), len(words)))
        self.assertEqual(self.json("reduce", "--column", "a", "t.csv")["missing"], 0)
        process = self.run_command("reduce", "--column", "b", "t.csv")
        self.assertEqual((process.returncode, float(process.out)), (0, expected))
        self.assertIn(f"{len(words)} of {2 * len(words)} records have no value", process.err.decode())
        for verb in (["scan"], ["histogram", "--bins", "3"]):
            self.assertEqual(self.json(*verb, "--column", "b", "t.csv")["missing"], len(words))
        self.write("t.csv", "a,b\n1,?\n2,x\n3,4\n")
        self.assert_fails(1, "reduce", "--column", "b", "t.csv", tells=["line 2: '?' is not a number", "--missing"])
        self.assertEqual(self.json("reduce", "--column", "b", "--missing", "?,X", "t.csv")["missing"], 2)
        # A missing first value is no header.
        self.assertEqual(self.column("NA\n1\n2\n"), [1, 2])
        self.assertEqual(self.column("NA,1\n3,2\n", "--column", "2"), [1, 2])

    def test_delimiters_are_found(self):
        for delimiter in (";", "\t", "|", ","):
            table = "name,x,y\napple,1,2.5\npear,3,4.5\n".replace(",", delimiter)
            self.assertEqual(self.column(table, "--column", "y"), [2.5, 4.5])
            self.write("t.csv", table)
            self.assertEqual(self.json("reduce", "--column", "x", "t.csv")["delimiter"], delimiter)
        self.assertEqual(self.column('note;x\n"a, b";1\n"c, d";2\n', "--column", "x"), [1, 2])
        self.assertEqual(self.column("x;y\n1,5;2,25\n3,5;4\n", "--column", "y", "--decimal", ","), [2.25, 4])
        df = ("Filesystem     1K-blocks     Used Available Use% Mounted on\n"
              "/dev/root       30298176 12345678  17952498  41% /\n"
              "tmpfs            8123456        0   8123456   0% /dev/shm\n")
        self.assertEqual(self.column(df, "--column", "Used"), [12345678, 0])
        self.assertEqual(self.column(df, "--column", "1K-blocks"), [30298176, 8123456])
        ps = "  PID TTY      %CPU CMD\n    1 ?         0.5 /sbin/init splash\n   77 pts/0    1.5 sh -c x y\n"
        self.assertEqual(self.column(ps, "--column", "%CPU"), [0.5, 1.5])
        self.assertEqual(self.column(ps, "--column", "PID"), [1, 77])

    def test_names_of_rows(self):
        r = '"a","b"\n"1",10,0.5\n"2",20,0.25\n'
        for table in (r, r.replace(",", " ")):
            self.assertEqual(self.column(table, "--column", "a"), [10, 20])
            self.assertEqual(self.column(table, "--column", "b"), [0.5, 0.25])
            self.assertEqual(self.column(table, "--column", "1"), [1, 2])
        self.assertEqual(self.column('"first name" "x"\n"a b" 3\n', "--column", "x"), [3])
        self.write("t.csv", "PID CMD\n1 2 x\n3 4 y\n")
        self.assert_fails(1, "reduce", "--column", "PID", "t.csv", tells=["every record has 3 fields", "position"])
        self.assertEqual(self.output("reduce", "--column", "1", "t.csv"), "4\n")

    def test_records_that_end_with_a_delimiter(self):
        for delimiter in (",", ";", "\t"):
            table = "a,b\n1,2,\n3,4,\n".replace(",", delimiter)
            self.assertEqual(self.column(table, "--column", "a"), [1, 3])
            self.assertEqual(self.column(table.replace("\n", "\r\n"), "--column", "b"), [2, 4])
        self.assertEqual(self.column("a,b\nx,1,2\ny,3,\n", "--column", "a"), [1, 3])  # the names of the rows

    def test_what_only_a_table_has_means_a_table(self):
        self.assertEqual(self.output("reduce", "--comment", "#", "-", stdin="# 1\n2\n3\n"), "5\n")
        self.assertEqual(self.output("reduce", "--skip-lines", "1", "-", stdin="made by 1\n2\n3\n"), "5\n")
        self.assertEqual(self.output("reduce", "--decimal", ",", "-", stdin="0,5\n0,25\n"), "0.75\n")
        self.assertEqual(self.output("reduce", "--header", "yes", "-", stdin="1\n2\n3\n"), "5\n")
        self.write("a.txt", "1\nnone at all\n3\n")
        self.assertEqual(self.json("reduce", "--missing", "none at all", "--delimiter", ";", "a.txt")["missing"], 1)
        self.assert_fails(1, "reduce", "--format", "text", "--comment", "#", "-", stdin="# 1\n2\n", tells="line 1: '#'")

    def test_remedies(self):
        for table, options, tells in (
                ("x;y\n1,5;2\n", ["--column", "x"], "line 2: '1,5' is not a number; give --decimal , if"),
                ("x;y\n1,234;2\n", ["--column", "x"], "line 2: '1,234' is not a number; remove thousands separators\n"),
                ("x;y\n1,234,567;2\n", ["--column", "x"], "remove thousands separators\n"),
                ("x;y\n1_000;2\n", ["--column", "x"], "remove thousands separators\n"),
                ("x;y\n?;2\n", ["--column", "x"], "line 2: '?' is not a number; correct it, or give --missing if"),
                ("x\n1\n", [], "line 1: 'x' is not a number; correct it, or give --column for a table"),
                ("Report\n\na,b\n1,2\n", ["--column", "b"], ["has no column 'b'", "--skip-lines"]),
                ("# made\na,b\n1,2\n", ["--column", "b"], ["has no column 'b'", "--comment"]),
                ("root:x:0\nbin:x:1\n", ["--column", "3"], ["has no column '3'", "--delimiter"]),
                ("a,b\n1,2\n", ["--column", "c"], "its 2 columns are 'a', 'b'\n")):
            self.assert_fails(1, "reduce", *options, "-", stdin=table, tells=tells)

    def test_what_ls_prints(self):
        ls = ("total 8\n-rw-r--r-- 1 me me 10 Nov 23 01:17 a\nlrwxrwxrwx 1 me me  1 Nov 23 01:17 b -> a\n"
              "-rw-r--r-- 1 me me 20 Nov 23 01:17 c\n")
        self.assertEqual(self.output("reduce", "--column", "5", "--skip-lines", "1", "-", stdin=ls), "31\n")
        self.assertEqual(self.output("reduce", "--column", "5", "--skip-lines", "2", "-", stdin=ls), "21\n")
        self.assert_fails(1, "reduce", "--column", "5", "-", stdin=ls, tells=["has no column '5'", "--skip-lines"])

    def test_comments_and_lines_before_the_table(self):
        table = 'Report of "x\nmade by hand, today\n# units: kg\na,b\n1,2\n# a "quoted, note\n3,4\n'
        self.assertEqual(self.column(table, "--skip-lines", "2", "--comment", "#", "--column", "b"), [2, 4])
        self.write("t.csv", table + "5,x\n")
        self.assert_fails(1, "reduce", "--skip-lines", "2", "--comment", "#", "--column", "b", "t.csv", tells=["line 8: 'x'"])

    def test_integers_stay_integers(self):
        self.write("t.csv", "x\n9007199254740993\n10000000000000000\n")
        self.assertEqual(self.output("reduce", "t.csv"), "19007199254740993\n")
        self.assertEqual(self.output("reduce", "--op", "min", "t.csv"), "9007199254740993\n")
        self.assertEqual(self.json("reduce", "t.csv")["dtype"], "i64")
        self.write("u.csv", "x\n18446744073709551615\n18446744073709551615\n")
        result = self.json("reduce", "u.csv")
        self.assertEqual((result["result"], result["dtype"], result["result_dtype"]), (2 * (2**64 - 1), "u64", "i128"))
        self.write("f.csv", "x\n1\n0.5\n")
        self.assertEqual(self.output("reduce", "f.csv"), "1.5\n")
        self.assertEqual(self.output("reduce", "t.csv", "f.csv"), "19007199254740992\n".replace("19007199254740992", repr(19007199254740993 + 1.5).rstrip("0").rstrip(".")))

    def test_a_table_without_records(self):
        self.assertEqual(self.column("a,b\n", "--column", "b"), [])
        self.write("t.csv", "")
        self.assert_fails(1, "reduce", "--column", "b", "t.csv", tells=["t.csv: line 1: has no records", "'b'"])
        self.assertEqual(self.column("NA\n"), [])

    def test_a_large_table_with_everything(self):
        draw = random.Random(11)
        notes = ["plain", "a,b", 'say "hi"', "two\nlines", "two\r\nlines", "", '"', ",,,\n\n\n", "x" * 3000]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "note", "value", "more"])
        values = []
        for i in range(60_000):
            values.append(round(draw.uniform(-1000, 1000), draw.randrange(1, 6)))
            if draw.random() < 0.001:
                stream.write("\n")
            writer.writerow([i, draw.choice(notes) if draw.random() < 0.3 else "word", values[-1], draw.choice(notes[:6])])
        text = stream.getvalue()
        self.assertGreater(len(text), 4_000_000)
        expected = np.array(values)
        for table in (text, text.replace("\n", "\r\n")):
            self.write("t.csv", table)
            for arguments, stdin in ((["t.csv"], b""), (["-"], table)):
                with self.subTest(arguments=arguments):
                    result = self.json("reduce", "--column", "value", *arguments, stdin=stdin)
                    self.assertEqual((result["count"], result["result"]), (len(values), reference_sum(expected, "f64")))
        self.write("t.csv", text + '1,"open,2,3\n')
        lines = text.count("\n") + 1
        self.assert_fails(1, "reduce", "--column", "value", "t.csv", tells=[f"t.csv: line {lines}: ", "closing quote"])

    def test_columns_of_several_files(self):
        self.write("1.csv", "a,b\n1,2\n")
        self.write("2.csv", "b,a\n10,20\n")
        self.assertEqual(self.output("reduce", "--column", "a", "1.csv", "2.csv"), "21\n")


class Refusing(CommandTest):
    def refuse(self, text, *tells, options=()):
        self.write("t.csv", text)
        self.assert_fails(1, "reduce", *options, "t.csv", tells=["t.csv: ", *tells])
        self.assert_fails(1, "reduce", *options, "--format", "csv", "-", stdin=text, tells=["standard input: ", *tells])

    def test_columns_that_are_not_there(self):
        self.refuse("a,b\n1,2\n", "2 columns", "'a', 'b'", "--column")
        self.refuse("a,b\n1,2\n", "no column 'c'", "'a', 'b'", options=("--column", "c"))
        self.refuse("a,b\n1,2\n", "no column '3'", options=("--column", "3"))
        self.refuse("a,b\n1,2\n", "no column '0'", options=("--column", "0"))
        self.refuse("a;b\n1;2\n", "no column 'b'", "'a;b'", options=("--column", "b", "--delimiter", ","))
        self.refuse("a,b\n1,2\n", "no column 'b'", "positions alone", options=("--column", "b", "--header", "no"))
        self.refuse("x,y,x\n1,2,3\n", "several columns 'x': 1 and 3", options=("--column", "x"))
        self.refuse("norway,2019\nsweden,5\n", "may be the names of the columns", "--header", options=("--column", "2"))
        self.refuse(",".join(f"c{i}" for i in range(50)), "50 columns", "...")

    def test_records_of_another_length(self):
        self.refuse("a,b\n1,2\n3\n", "line 3: 1 fields where the first record has 2", options=("--column", "a"))
        self.refuse("a,b c\n1,2 3\n4,5,6 7\n", "line 3: 3 fields where the first record has 2", options=("--column", "1"))
        self.refuse("a,b\n1,2\n1,234,5\n", "line 3: 3 fields where the first record has 2", options=("--column", "a"))

    def test_what_is_no_number(self):
        self.refuse("a,b\n1,x\n2,3\n", "line 2: 'x' is not a number", options=("--column", "b"))
        self.refuse('a,b\n1,"1,234"\n', "line 2: '1,234'", "thousands separators", options=("--column", "b"))
        self.refuse("a\n1\n1e400\n", "line 3: '1e400' does not fit f64")
        self.refuse('n,a\n"two\nlines",1\n"two\nlines",x\n', "line 5: 'x'", options=("--column", "a"))

    def test_quotes_that_are_wrong(self):
        self.refuse('a,b\n1,"2"3\n', "line 2", "text after a closing quote", options=("--column", "b"))
        self.refuse('a,b\n1,2\n"1,2\n3,4\n', "line 3", "closing quote is missing", options=("--column", "a"))
        self.refuse('"a,b\n1,2\n', "line 1", "closing quote is missing", options=("--column", "a"))


if __name__ == "__main__":
    unittest.main()
