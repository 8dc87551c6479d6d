# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Where arrays are folded."""
from upsweep import _core


def show_targets() -> None:
    """Print what folds: the library that was opened for this CPU, its threads, and the GPU.

    Examples
    --------
    >>> import upsweep as us
    >>> us.show_targets()  # doctest: +ELLIPSIS
    upsweep ...
    cpu   ...
    cuda  ...
    """
    gpu = _core.gpu_name()
    print(f"upsweep {_core.version()}")
    print(f"cpu   {_core.cpu_isa()}, {_core.cpu_threads()} threads")
    print(f"cuda  {gpu if gpu is not None else f'none: {_core.why_no_gpu()}'}")
