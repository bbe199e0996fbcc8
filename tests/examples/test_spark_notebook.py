"""The cells of the notebook run in their order, and show what its text says."""

from __future__ import annotations

import ast
import json

import pytest
from support.checkout import ROOT

from anabranch.cli.commands.servers.quickstart import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from anabranch.testing.server import running_server

NOTEBOOK = json.loads((ROOT / "examples/first_steps.ipynb").read_text("utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
pytestmark = [pytest.mark.systems, pytest.mark.timeout(900)]


def run_cell(source, names):
    """Runs a cell, and returns the value of its last line, which a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102  code of this project
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def test_the_notebook_has_no_results_of_somebody():
    for cell in NOTEBOOK["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.usefixtures("spark")  # the notebook gets the session that there is
@pytest.mark.slow  # an example
def test_the_cells_run_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("ANABRANCH_CACHE_FOLDER", str(tmp_path / "cache"))
    env = {
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    }
    names = {}
    with running_server(tmp_path / "lake", env=env) as server:
        shown = [
            run_cell(cell.replace("http://127.0.0.1:8000", server.url), names) for cell in CELLS
        ]
    _, _, objects, rows, _, messages, changed, table = shown
    assert [(each.kind, each.path) for each in objects.items] == [("changed", "depths.parquet")]
    assert "10935" in rows._repr_html_()
    assert "10920" in rows._repr_html_()
    assert len(rows.items) == 1
    assert messages[1:] == ["Measured again", "The deepest places", "Repository created"]
    assert changed == [("changed", "depths.parquet")]
    assert table.metres.tolist() == [10935, 10820, 10047]
