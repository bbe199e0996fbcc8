"""No operation is called the same whose recorded responses of lakeFS 1.84 differ from ours.

`tests/data/lakefs-1.84/differences.json` lists the recorded requests that have other responses;
`tests/rest/test_recorded_histories.py` proves that there are no more. Another wording of an error's
message is no difference of an operation, and neither is a fault of lakeFS.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.histories.recorded_histories import read_histories

from anabranch.rest.differences import DIFFERENCES, State
from anabranch.rest.table import OPERATIONS

DATA = Path(__file__).parents[1] / "data" / "lakefs-1.84"
LISTED = json.loads((DATA / "differences.json").read_text("utf-8"))
WORDING = {"words", "fault"}
EXTENDING = {"shallow-copy", "staging-right"}
"""Requests that lakeFS refuses."""


def _pattern(path):
    literal = re.split(r"\{\w+\}", path)
    return re.compile("[^/]+".join(map(re.escape, literal)))


ROUTES = [(each.method, _pattern(each.path), each.id) for each in OPERATIONS]


def operation_of(request):
    """Returns the id of the operation that a recorded request is for; "" for none."""
    path = request["path"].partition("?")[0]
    matching = [
        name
        for method, pattern, name in ROUTES
        if method == request["method"] and pattern.fullmatch(path)
    ]
    return matching[0] if matching else ""


def differing():
    """Returns the reasons of the differences of each operation."""
    histories = {
        history["history"]: {each["n"]: each["request"] for each in history["operations"]}
        for history in read_histories(DATA / "histories.jsonl.gz")
    }
    found = {}
    for reason, listed in LISTED.items():
        if reason not in WORDING:
            for name, numbers in listed["operations"].items():
                for number in numbers:
                    operation = operation_of(histories[name][number])
                    found.setdefault(operation, set()).add(reason)
    return found


DIFFERING = differing()


def test_most_recorded_differences_are_of_operations():
    assert len(DIFFERING) > 10
    assert "" not in DIFFERING


@pytest.mark.parametrize("operation", sorted(DIFFERING))
def test_an_operation_with_other_responses_is_not_called_the_same(operation):
    assert operation in DIFFERENCES, DIFFERING[operation]
    if DIFFERING[operation] - EXTENDING:
        assert DIFFERENCES[operation].state is State.DIFFERS, DIFFERING[operation]
