"""docs/errors.md lists the classes and kinds of errors as the code has them."""

from __future__ import annotations

import ast
import sys
from functools import cache

import pytest
from support.checkout import ROOT

from anabranch import errors
from anabranch.errors.hints import HINTS

sys.path.insert(0, str(ROOT / "tools"))

from reference_pages import error_kinds


@cache
def text() -> str:
    """Returns the page, of which `test_reference_pages.py` shows that it is current."""
    return (ROOT / "docs/errors.md").read_text(encoding="utf-8")


def test_each_class_and_each_kind_with_a_hint_is_listed():
    assert [name for name in errors.__all__ if f"`{name}` |" not in text()] == []
    assert [kind for kind in HINTS if f"\n| `{kind}` | " not in text()] == []


def test_statuses_and_hints_are_those_of_the_gateways():
    assert "| `body_too_large` | `Invalid` | 413 | Send less at once" in text()
    assert "`MergeConflict` | `merge_conflict` | 409 | `OperationAborted` | Both sides" in text()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("NotFound('no', kind='tag_not_found')", "tag_not_found"),
        ("errors.NotFound('no', kind=MISSING)", "missing"),
        ("Busy('no', kind=f'too_many_{noun}s')", "too_many_…s"),
        ("NotFound('no', kind=error.kind)", ""),
        ("NotFound('no', kind=unknown)", ""),
    ],
)
def test_a_kind_is_read_from_a_call(call, kind):
    ((_, value),) = error_kinds._calls(ast.parse(call))
    assert error_kinds._text(value, {"MISSING": "missing"}) == kind


def test_calls_of_other_classes_have_no_kind_of_ours():
    assert list(error_kinds._calls(ast.parse("Failure('no', kind='unreachable')"))) == []
