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

import errors_page

PAGE = ROOT / "docs" / "errors.md"


@cache
def text() -> str:
    return errors_page.rewritten(PAGE.read_text(encoding="utf-8"))


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == text(), (
        "run: python tools/errors_page.py docs/errors.md"
    )


def test_a_table_that_is_not_current_is_replaced():
    stale = text().replace("| 413 |", "| 200 |").replace("| `gone` |", "| `lost` |")
    assert errors_page.rewritten(stale) == text() != stale


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
    ((_, value),) = errors_page._calls(ast.parse(call))
    assert errors_page._text(value, {"MISSING": "missing"}) == kind


def test_calls_of_other_classes_have_no_kind_of_ours():
    assert list(errors_page._calls(ast.parse("Failure('no', kind='unreachable')"))) == []
