# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import hypothesis

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# The canonical order written a second time, in NumPy.
sys.path.insert(0, str(REPOSITORY / "tests" / "reference"))

# The same examples on every run, and no clock: machines of the continuous integration are now fast and then slow.
hypothesis.settings.register_profile("upsweep", deadline=None, derandomize=True, max_examples=60,
                                     suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("upsweep")
