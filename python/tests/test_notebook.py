# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The notebook among the examples runs, and draws what it says."""
import pytest
from conftest import REPOSITORY

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("upsweep._files")  # reads tables, and is built where its libraries are

NOTEBOOK = REPOSITORY / "examples" / "delays.ipynb"


@pytest.mark.filterwarnings("ignore")  # of what runs notebooks
def test_notebook():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "outputs are not kept"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3",
                            resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()

    kinds = [{kind for output in cell.outputs for kind in output.get("data", ())} for cell in code]
    assert "text/html" in kinds[1] and sum("image/png" in kind for kind in kinds) == 2
    assert not any(output.get("name") == "stderr" for cell in code for output in cell.outputs)
    histogram, outside = ("".join(output["data"].values()) for output in (code[1].outputs[0], code[2].outputs[0]))
    assert "<svg" in histogram and "in no bin" in histogram and "Outside(below=" in outside
