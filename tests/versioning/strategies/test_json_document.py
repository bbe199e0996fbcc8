"""The strategy `json`, compared with a merge of plain dictionaries."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies import json_document
from anabranch.versioning.strategies.json_document import json_strategy

# in Python True equals 1, in JSON it does not: of the two, only 1 is used
SCALARS = st.sampled_from([None, False, 1, 2, "x", [1], []])
NAMES = st.sampled_from(["a", "b", "c/d", "e~f", ""])
DOCUMENTS = st.recursive(SCALARS, lambda part: st.dictionaries(NAMES, part), max_leaves=6)
OBJECTS = st.dictionaries(NAMES, DOCUMENTS)
ABSENT = object()


def run(base, source, destination):
    return run_strategy(
        json_strategy({}), "a.json", base=base, source=source, destination=destination
    )


def run_values(*values):
    return run(*(json.dumps(value).encode() for value in values))


def merge_plain(base, source, destination, pointer, conflicts):
    if source in (destination, base):
        return destination
    if destination == base:
        return source
    if not all(isinstance(side, dict) for side in (base, source, destination)):
        conflicts.add(pointer)
        return destination
    merged = {}
    for name in {*source, *destination}:
        sides = [side.get(name, ABSENT) for side in (base, source, destination)]
        if sides[0] is ABSENT and isinstance(sides[1], dict) and isinstance(sides[2], dict):
            sides[0] = {}
        escaped = name.replace("~", "~0").replace("/", "~1")
        value = merge_plain(*sides, f"{pointer}/{escaped}", conflicts)
        if value is not ABSENT:
            merged[name] = value
    return merged


@settings(max_examples=examples(120), deadline=None)
@given(OBJECTS, OBJECTS, OBJECTS)
def test_a_merge_is_that_of_plain_dictionaries(base, source, destination):
    conflicts = set()
    expected = merge_plain(base, source, destination, "", conflicts)
    merged = run_values(base, source, destination)
    assert {conflict.key["pointer"] for conflict in merged.conflicts} == conflicts
    if not conflicts:
        assert json.loads(merged.files["a.json"]) == expected


@settings(max_examples=examples(100), deadline=None)
@given(DOCUMENTS, DOCUMENTS)
def test_merges_with_the_base_and_with_itself_change_nothing(base, changed):
    for sides in ((base, changed, base), (base, base, changed), (base, changed, changed)):
        assert json.loads(run_values(*sides).files["a.json"]) == changed


@settings(max_examples=examples(100), deadline=None)
@given(OBJECTS, OBJECTS, OBJECTS)
def test_merges_in_both_directions_have_the_same_members(base, left, right):
    one, other = run_values(base, left, right), run_values(base, right, left)
    assert len(one.conflicts) == len(other.conflicts)
    if not one.conflicts:
        assert json.loads(one.files["a.json"]) == json.loads(other.files["a.json"])


def test_order_indentation_and_end_are_those_of_the_destination():
    base = b'{\n    "z": 1,\n    "a": 2\n}\n'
    source = b'{"z": 1, "new": {"x": []}, "a": 2}'
    destination = b'{\n    "z": 1,\n    "a": 3\n}\n'
    expected = b'{\n    "z": 1,\n    "new": {\n        "x": []\n    },\n    "a": 3\n}\n'
    assert run(base, source, destination).files == {"a.json": expected}


@pytest.mark.parametrize("number", ["1.0", "1e5", "12345678901234567890", "0.1000", "-0"])
def test_numbers_keep_their_spelling(number):
    document = f'{{"n":{number},"x":%d}}'
    base, destination = (document % each for each in (1, 2))
    source = base.replace('"x"', '"y":0,"x"')
    merged = run(base.encode(), source.encode(), destination.encode()).files["a.json"]
    assert merged == f'{{"n":{number},"y":0,"x":2}}'.encode()


def test_conflicts_name_the_member_and_its_values():
    (conflict,) = run_values({"a": {"b/c": 1}}, {"a": {"b/c": 2}}, {"a": {}}).conflicts
    assert conflict.key == {"pointer": "/a/b~1c"}
    assert (conflict.base, conflict.source, conflict.destination) == (1, 2, None)


@pytest.mark.parametrize(("source", "destination"), [(None, b"1"), (b"1", None)])
def test_deletions_against_changes_conflict(source, destination):
    (conflict,) = run(b"0", source, destination).conflicts
    assert "deleted the document" in conflict.message


def test_objects_that_both_sides_added_are_merged():
    merged = run(None, b'{"a":1}', b'{"b":2}').files["a.json"]
    assert json.loads(merged) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        # Python 3.13 names the comma, older versions what follows it
        (b'{"a": 1,\n}', "the source is no JSON: line (2, column 1|1, column 8)"),
        (b"", "the source is no JSON"),
        (b'{"a": 1, "a": 2}', "the source has the member 'a' twice"),
        (b'{"a": NaN}', "the source has NaN"),
        (b"[" * 10_000 + b"]" * 10_000, "the source is nested more than 200 levels deep"),
        (b"[" * 500 + b"]" * 500, "the source is nested more than 200 levels deep"),
        (b'{"a": "\xff"}', "the source is not UTF-8: byte 7"),
        ('{"a": 1}'.encode("utf-16") + b"\x00", "the source is not UTF-16 LE: byte 16"),
    ],
)
def test_content_that_cannot_be_merged_is_refused_with_the_reason(content, reason):
    with pytest.raises(Conflict, match=reason) as refused:
        run(b"{}", content, b'{"b": 1}')
    assert refused.value.kind == "merge_failed"


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_documents_are_merged_in_the_encoding_of_the_destination(codec):
    base, source, destination = '{"a": "é"}', '{"a": "é", "b": 1}', '{"a": "ü"}'
    merged = run(base.encode(), source.encode("utf-16"), destination.encode(codec))
    assert merged.files["a.json"].decode(codec) == '{"a": "ü", "b": 1}'
    assert merged.files["a.json"].startswith(destination.encode(codec)[:2])


def test_lone_surrogates_and_other_characters_are_kept():
    base, destination = b'{"a": "\\ud800 \\u00e9", "x": 1}', b'{"a": "\\ud800 \\u00e9", "x": 2}'
    merged = run(base, b'{"a": "\\ud800 \\u00e9", "x": 1, "y": 3}', destination).files["a.json"]
    assert json.loads(merged) == {"a": "\ud800 é", "x": 2, "y": 3}


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-32"])
def test_lone_surrogates_are_escaped_beside_characters_that_are_not(codec):
    # RFC 3629 and 2781: half a pair is no character, so only its escape is one in any encoding
    base = '{"é": "\\ud800", "\\udfff": ["\\udc00 ü"], "😀": 1}'
    source, destination = base.replace("1}", '1, "y": 3}'), base.replace("1}", "2}")
    merged = run(*(text.encode(codec) for text in (base, source, destination))).files["a.json"]
    assert merged.decode(codec) == (
        '{"é": "\\ud800", "\\udfff": ["\\udc00 \\u00fc"], "😀": 2, "y": 3}'
    )


def test_options_are_refused():
    with pytest.raises(Invalid, match="no option 'key'"):
        json_strategy({"key": "id"})


def test_documents_that_are_too_long_are_refused(monkeypatch):
    monkeypatch.setattr(json_document, "MAX_BYTES", 10)
    sides = {"base": b"[]", "destination": b"[1]", "source": b'"' + b"x" * 9 + b'"'}
    with pytest.raises(Conflict, match="the source has 11 bytes; at most 10 are merged"):
        run_strategy(json_strategy({}), "a.json", **sides)
