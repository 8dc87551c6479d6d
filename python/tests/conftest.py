# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import hypothesis
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# The canonical order written a second time, in NumPy.
sys.path.insert(0, str(REPOSITORY / "tests" / "reference"))

# The same examples on every run, and no clock: machines of the continuous integration are now fast and then slow.
hypothesis.settings.register_profile("upsweep", deadline=None, derandomize=True, max_examples=60,
                                     suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("upsweep")


@pytest.fixture(scope="session", autouse=True)
def cache_of_compiled_operators(tmp_path_factory):
    """Operators of the user are compiled by the tests, and not found in the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
