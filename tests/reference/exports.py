# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Fails where libupsweep, or a variant of it for a newer instruction set, shows other symbols than those of runtime.h, or not all.

    python3 exports.py libupsweep.so
"""
import pathlib
import re
import subprocess
import sys

HEADER = pathlib.Path(__file__).resolve().parents[2] / "runtime" / "upsweep" / "runtime.h"


def main():
    declared = set(re.findall(r"UPSWEEP_API\s[^;(]*?\b(upsweep_\w+)\(", HEADER.read_text()))
    failed = not declared
    library = pathlib.Path(sys.argv[1])
    for path in [library, *library.parent.glob(f"glibc-hwcaps/*/{library.name}")]:
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        shown = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        for what, names in (("shows", shown - declared), ("does not show", declared - shown)):
            if names:
                print(f"{path} {what} {', '.join(sorted(names))}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
