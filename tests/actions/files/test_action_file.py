"""Action files: what they declare, and the file, line and field of every error."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.actions.files.action_file import parse_action_file, require_distinct_names
from anabranch.actions.files.events import EventType
from anabranch.errors import Invalid, NotSupported

FILE = "_lakefs_actions/good.yaml"
GOOD = """\
name: Good files check
description: only good files
on:
  pre-commit:
  pre-merge:
    branches: [main, "release-*"]
  post-create-tag: {}
hooks:
  - id: no_temp
    type: webhook
    description: no temporary files
    properties:
      url: "http://localhost:1/check?x=yes"
      query_params: {disallow: ["_temporary", yes, 1], strict: true, none: null}
  - id: again
    type: check
    if: failure() && branch_id == "main"
"""


def check_hook(type, properties):
    if type not in {"webhook", "check", "lua"}:
        raise Invalid(f"unknown hook type {type!r}", kind="unknown_hook_type")
    if type == "webhook" and "url" not in properties:
        raise Invalid("property url: is required", kind="invalid_hook")
    if type == "webhook" and properties.get("timeout") == "never":
        raise Invalid("property timeout: 'never' is no duration", kind="invalid_hook")
    if type == "lua":
        raise NotSupported("lupa is not installed")


def parse(text: str):
    return parse_action_file(dedent(text).encode(), FILE, check_hook)


def test_file_is_read_whole():
    action = parse(GOOD)
    assert action.name == "Good files check"
    assert action.on == {
        EventType.PRE_COMMIT: (),
        EventType.PRE_MERGE: ("main", "release-*"),
        EventType.POST_CREATE_TAG: (),
    }
    first, second = action.hooks
    assert first.properties["query_params"] == {
        "disallow": ["_temporary", "yes", 1],
        "strict": True,
        "none": None,
    }
    assert (first.condition.text, second.condition.text) == (
        "success()",
        'failure() && branch_id == "main"',
    )
    assert (first.line, second.line) == (9, 15)


def test_branches_without_patterns_are_all_and_others_are_matched():
    action = parse(GOOD)
    assert action.runs_on(EventType.PRE_COMMIT, "any/branch")
    assert action.runs_on(EventType.PRE_MERGE, "release-1")
    assert not action.runs_on(EventType.PRE_MERGE, "dev")
    assert not action.runs_on(EventType.POST_COMMIT, "main")
    assert action.runs_on(EventType.POST_CREATE_TAG, "")


def test_file_without_a_name_has_its_own():
    assert parse("on: {pre-commit: }\nhooks: [{id: a1, type: check}]").name == "good.yaml"


def test_hook_whose_library_is_missing_is_accepted():
    assert parse("on: {pre-commit: }\nhooks: [{id: a1, type: lua}]").hooks[0].type == "lua"


ON = "on: {pre-commit: }\n"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "1: must be a mapping"),
        ("[]", "1: must be a mapping"),
        ("name: [a]\n" + ON + "hooks: [{id: a1, type: check}]", "1: name: must be text"),
        ("name: x\n" + ON + "hooks: [{id: a1, type: check}]", "1: name: 'x' is not a name"),
        (ON, "1: the field `hooks` is required"),
        ("on:\nhooks: []", "1: on: the field `on` is required"),
        ("on: {}\nhooks: [{id: a1, type: check}]", "1: on: must name an event"),
        ("on: pre-commit\nhooks: [{id: a1, type: check}]", "1: on: must be a mapping"),
        ("on:\n  pre-comit:\nhooks: []", "2: on.pre-comit: unknown event"),
        ("on:\n  pre-merge:\n    branch: [a]\n", "1: the field `hooks` is required"),
        (
            "hooks: [{id: a1, type: check}]\non:\n  pre-merge:\n    branch: [a]",
            "4: on.pre-merge.branch: unknown field",
        ),
        (
            "hooks: [{id: a1, type: check}]\non:\n  pre-merge:\n    branches: main",
            "4: on.pre-merge.branches: must be a list",
        ),
        (
            "hooks: [{id: a1, type: check}]\non:\n  pre-merge:\n    branches:\n    - '['",
            "5: on.pre-merge.branches[0]: the pattern '[' has an unfinished class",
        ),
        (
            "hooks: [{id: a1, type: check}]\non: {post-create-tag: {branches: [a]}}",
            "2: on.post-create-tag.branches: an event of tags has no branches",
        ),
        (ON + "hooks: []", "2: hooks: must have a hook"),
        (ON + "hooks:\n- type: check", "3: hooks[0]: the field `id` is required"),
        (ON + "hooks:\n- id: a1", "3: hooks[0]: the field `type` is required"),
        (ON + "hooks:\n- id: 1a\n  type: check", "3: hooks[0].id: '1a' is not an id"),
        (ON + "hooks:\n- id: a1\n  type: shell", "4: hooks[0].type: unknown hook type 'shell'"),
        (
            ON + "hooks:\n- {id: a1, type: check}\n- {id: a1, type: check}",
            "4: hooks[1].id: duplicate id 'a1'",
        ),
        (
            ON + "hooks:\n- id: a1\n  type: check\n  if: success",
            "5: hooks[0].if: the condition 'success', character 8: '(' is expected",
        ),
        (ON + "hooks:\n- id: a1\n  type: check\n  If: true", "5: hooks[0].If: unknown field"),
        (
            ON + "hooks:\n- id: a1\n  type: webhook\n  properties: {}",
            "5: hooks[0].properties: property url: is required",
        ),
        (
            ON + "hooks:\n- id: a1\n  type: webhook",
            "4: hooks[0].type: property url: is required",
        ),
        (
            ON + "hooks:\n- id: a1\n  type: webhook\n  properties:\n    url: a\n    timeout: never",
            "7: hooks[0].properties.timeout: 'never' is no duration",
        ),
        (ON + "hooks:\n- id: a1\n  id: a2", "4: hooks[0].id: occurs twice"),
        (ON + "hooks: *a", "2: aliases are not allowed"),
        (ON + "hooks: [", "3: did not find expected node content"),
        ("a: " + "[" * 60, "1: values are nested more than 50 deep"),
    ],
)
def test_error_names_file_line_and_field(text, where):
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert caught.value.message.startswith(f"{FILE}:{where}"), caught.value.message
    assert caught.value.kind == "invalid_action_file"


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_parse_or_raise_invalid(content):
    try:
        parse_action_file(content, FILE, check_hook)
    except Invalid as error:
        assert error.kind == "invalid_action_file"  # noqa: PT017


@given(st.data())
def test_damaged_file_parses_or_raises_invalid_with_a_line(data):
    content = bytearray(GOOD.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        parse_action_file(bytes(content), FILE, check_hook)
    except Invalid as error:
        assert error.message.split(":")[1].isdigit()  # noqa: PT017


def test_long_file_is_refused():
    with pytest.raises(Invalid, match="at most 262144 are allowed"):
        parse_action_file(b"#" * (256 << 10) + b"\n", FILE, check_hook)


def test_two_actions_of_one_name_are_refused():
    first = parse(GOOD)
    with pytest.raises(Invalid, match="duplicate action name 'Good files check'"):
        require_distinct_names([first, first])
