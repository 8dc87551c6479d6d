# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Sources that must not compile, each with a message that has the words of its line "// expect: WORDS | WORDS ..."; with -DFIXED
they must compile, so that they fail for the reason that they mean.

    python3 compile_fail.py SOURCE... -- COMPILER FLAG...

Several sources are compiled as one, each in a namespace of its own, since all but a little of the time goes to what they include. An
error belongs to the sources that the compiler names around it.
"""
import pathlib
import re
import subprocess
import sys


def main():
    split = sys.argv.index("--")
    sources = [pathlib.Path(name) for name in sys.argv[1:split]]
    texts = {source.name: source.read_text() for source in sources}
    if len(sources) == 1:
        unit = f'#include "{sources[0]}"\n'
    else:
        included = dict.fromkeys(line for text in texts.values() for line in re.findall(r"^#include <.*>$", text, re.M))
        unit = "\n".join(included) + "".join(f'\nnamespace {source.stem} {{\n#include "{source}"\n}}\n' for source in sources)

    def compiled(*flags):
        command = [*sys.argv[split + 1:], *flags, "-x", "c++", "-"]
        return subprocess.run(command, input=unit, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    failures = []
    fixed = compiled("-DFIXED")
    if fixed.returncode != 0:
        failures.append(f"with FIXED they do not compile:\n{fixed.stdout}")
    between = re.split(r"^(.*\berror: .*)$", compiled().stdout, flags=re.M)
    errors = ["".join(between[max(i - 1, 0):i + 2]) for i in range(1, len(between), 2)]
    for name, text in texts.items():
        said = "\n".join(error for error in errors if f"{name}:" in error)
        for words in re.search("^// expect: (.*)$", text, re.M).group(1).split(" | "):
            if words not in said:
                failures.append(f'{name}: "{words}" is missing in what the compiler says:\n{said or "nothing: it compiles"}')
    for failure in failures:
        print(failure)
    print(f"{len(sources)} sources, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
