# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The examples of the documentation are run."""
import doctest
import importlib.util
import inspect
import os
import shutil

import pytest
import upsweep as us
from conftest import REPOSITORY

OPTIONS = doctest.NORMALIZE_WHITESPACE


def run(text, name):
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    messages = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=messages.append)
    assert result.failed == 0, "".join(messages)


@pytest.mark.parametrize("name", [name for name in us.__all__ if name not in ("__version__", "Outside")])
def test_docstring(name):
    if name == "monoid" and shutil.which(os.environ.get("CXX", "g++").split()[0]) is None:
        pytest.skip("no C++ compiler")
    text = inspect.cleandoc(getattr(us, name).__doc__)
    run(text, name)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_page(page):
    """All examples of a page are one session."""
    text = (REPOSITORY / page).read_text()
    if "import dask" in text:
        pytest.importorskip("dask.array")
    sessions = [block.split("```")[0] for block in text.split("```pycon\n")[1:]]
    for package in ("torch", "jax"):
        if importlib.util.find_spec(package) is None:
            sessions = [session for session in sessions if f"import {package}" not in session]
    run("\n".join(sessions), page)


def test_everything_is_documented():
    text = (REPOSITORY / "docs/python.md").read_text()
    missing = [name for name in us.__all__ if name not in ("__version__", "Outside") and f"`{name}`" not in text
               and f"us.{name}" not in text]
    assert not missing
