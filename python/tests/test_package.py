# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What is in the wheel that was installed."""
import importlib.metadata
import pathlib
import re
import subprocess

import pytest
import upsweep as us

FOLDER = pathlib.Path(us.__file__).parent


@pytest.fixture(scope="module")
def distribution():
    try:
        return importlib.metadata.distribution("upsweep")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("no wheel was installed")


def test_version(distribution):
    assert us.__version__ == distribution.version == us._core.version()


def test_tags(distribution):
    """One wheel for Python 3.10 and all that come after it."""
    assert re.search(r"^Tag: cp310-abi3-(manylinux_2_[0-9]+|linux)_", distribution.read_text("WHEEL"), re.MULTILINE)
    assert "Root-Is-Purelib: false" in distribution.read_text("WHEEL")
    assert (FOLDER / "_core.abi3.so").exists()
    assert distribution.metadata["Requires-Python"] == ">=3.10"


def test_contents(distribution):
    files = [file for file in distribution.files if "__pycache__" not in file.parts]
    folders = {file.parts[0] for file in files}
    assert folders - {"upsweep.libs"} == {"upsweep", f"upsweep-{us.__version__}.dist-info"}
    if "upsweep.libs" in folders:  # libraries of other projects that auditwheel brought along
        assert "-manylinux_2_" in distribution.read_text("WHEEL")
    names = {file.name for file in files if file.parts[0] != "upsweep.libs"}
    assert {"__init__.py", "_core.pyi", "py.typed", "_core.abi3.so", "libtbb.so.12"} <= names
    assert any(name.startswith("libupsweep-") for name in names)
    assert {pathlib.Path(name).suffix for name in names if (FOLDER / name).exists()} <= {".py", ".pyi", ".typed", ".so", ".12", ".h", ".hpp"}
    # Three levels of the instruction set, and what folds on GPUs; a library that was not stripped would be more.
    bytes_of = {file.name: file.locate().stat().st_size for file in files}
    assert bytes_of.pop("libupsweep-cuda.so", 0) < 40e6
    assert sum(file.locate().stat().st_size for file in files if file.name in bytes_of) < 25e6


def test_no_path_of_the_build(distribution):
    """Neither the folder of the sources nor that of the build are in a file, and libraries are found beside the module."""
    libraries = [*FOLDER.glob("libupsweep-*.so"), FOLDER / "_core.abi3.so"]
    for file in [*libraries, *FOLDER.glob("_files.abi3.so")]:
        dynamic = subprocess.run(["readelf", "-d", file], text=True, capture_output=True, check=True).stdout
        paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
        assert paths in ([], ["$ORIGIN"], ["$ORIGIN:$ORIGIN/../upsweep.libs"]), (file.name, paths)
        text = file.read_bytes()
        for path in (b"/tmp/", b"/home/", b"build-python", bytes(pathlib.Path(__file__).parents[2])):
            assert path not in text, (file.name, path)
    needed = {name for file in libraries for name in re.findall(
        r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", file], text=True, capture_output=True, check=True).stdout)}
    assert needed <= {"libtbb.so.12", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}  # and not libcuda: there may be no driver


def test_types():
    """The stubs name what the module has."""
    stubs = (FOLDER / "_core.pyi").read_text()
    for name in ("sum", "cumulative_sum", "histogram", "reduce", "scan"):
        assert re.search(rf"^def {name}\(x: numpy.typing.ArrayLike, /", stubs, re.MULTILINE), name
    assert "class partial" in stubs
