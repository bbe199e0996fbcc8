"""Histories of requests with recorded responses of lakeFS 1.84: all responses are equal, except for
the intended differences that `differences.json` lists with their reasons.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from support.histories.recorded_histories import play, read_histories
from support.memory_folder import MEMORY_FOLDER

from anabranch.testing.server import running_server

DATA = Path(__file__).parents[1] / "data" / "lakefs-1.84"
HISTORIES = read_histories(DATA / "histories.jsonl.gz")
DIFFERENCES = json.loads((DATA / "differences.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded_user_server():
    """A server whose administrator has the user name of the recorded histories. Its thousands of
    writes are synced, which on a disk takes most of the time.
    """
    user = {"ANABRANCH_INSTALLATION_USER_NAME": "admin"}
    with (
        tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder,
        running_server(folder, env=user) as running,
    ):
        yield running


def intended_differences(name):
    """Returns the numbers of operations of a history that differ intentionally, with reasons."""
    return {
        number: reason
        for reason, listed in DIFFERENCES.items()
        for number in listed["operations"].get(name, ())
    }


def test_listed_differences_name_recorded_operations():
    numbers = {each["history"]: {op["n"] for op in each["operations"]} for each in HISTORIES}
    for listed in DIFFERENCES.values():
        assert listed["reason"]
        for name, operations in listed["operations"].items():
            assert numbers[name].issuperset(operations)


@pytest.mark.parametrize(
    ("index", "history"), list(enumerate(HISTORIES)), ids=[each["history"] for each in HISTORIES]
)
@pytest.mark.sample(12)
def test_history_has_the_responses_of_lakefs(index, history, recorded_user_server):
    differing = {}
    for played in play(history, recorded_user_server, f"history-{index:03}"):
        if not played.agrees:
            differing[played.number] = played
    reasons = intended_differences(history["history"])
    unexpected = [played for number, played in differing.items() if number not in reasons]
    assert not unexpected, "a response differs from lakeFS's"
    assert not reasons.keys() - differing.keys(), "a listed difference no longer exists"
    for number, played in differing.items():
        assert_reason_fits(reasons[number], played)


def assert_reason_fits(reason, played):
    """Asserts the properties of a difference that its reason implies."""
    recorded, response = played.recorded, played.response
    if reason == "words":
        assert recorded["status"] == response["status"] >= 400
        without_messages = [
            {**each, "body": {**each["body"], "message": ""}} for each in (recorded, response)
        ]
        assert without_messages[0] == without_messages[1]
    else:
        assert (reason == "fault") == played.is_fault
