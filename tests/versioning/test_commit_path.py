"""The paths of a commit, from its request to the branch's move, and of a change of access control
hold no callbacks.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import anabranch

PATH = (
    "access/credentials",
    "access/identities",
    "access/policies",
    "access/records",
    "access/sessions",
    "catalog/commits",
    "catalog/references",
    "pipelines/branch_tasks",
    "pipelines/imports/commit_import.py",
    "rest/operations/commits",
    "versioning/commits",
    "versioning/merging",
    "versioning/objects/changes.py",
    "versioning/staging/extra_writes.py",
    "versioning/transfers",
)

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def callbacks(source):
    """Returns the lines of lambdas, and of functions within functions."""
    nodes = list(ast.walk(ast.parse(source)))
    lines = {node.lineno for node in nodes if isinstance(node, ast.Lambda)}
    for outer in nodes:
        if isinstance(outer, FUNCTIONS):
            inner = (node for node in ast.walk(outer) if node is not outer)
            lines |= {node.lineno for node in inner if isinstance(node, FUNCTIONS)}
    return sorted(lines)


def test_callbacks_are_found():
    assert callbacks("def a():\n    def b(): pass\n    return lambda: b") == [2, 3]
    assert not callbacks("class A:\n    def a(self): return self.a")


@pytest.mark.parametrize("place", PATH)
def test_no_function_is_made_within_another(place):
    root = Path(anabranch.__file__).parent / place
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    assert files
    found = {path.name: callbacks(path.read_text()) for path in files}
    assert not {name: lines for name, lines in found.items() if lines}
