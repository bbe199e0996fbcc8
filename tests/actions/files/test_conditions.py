"""Conditions of hooks, compared with an evaluator that works on the conditions' trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.actions.files.conditions import FIELDS, Situation, parse_condition
from anabranch.errors import Invalid

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6
) | st.sampled_from(["", "main", "release-1", "in", "not", "'", '"', "\\", "a\nb"])
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "contains", "startsWith", "endsWith"]


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


fields = st.sampled_from(FIELDS).map(lambda name: ("field", name))
texts = st.one_of(
    TEXTS.map(lambda text: ("text", text)),
    fields,
    st.sampled_from(["team", "x"]).map(lambda key: ("metadata", key)),
)
simple = st.one_of(
    st.sampled_from([("success",), ("failure",), ("always",), ("truth", True), ("truth", False)]),
    st.tuples(st.sampled_from(COMPARISONS), texts, texts),
    st.tuples(st.just("in"), texts, st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just("not in"), texts, st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just("has"), texts),
)
trees = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or", "equal"]), inner, inner),
        st.tuples(st.just("not"), inner),
    ),
    max_leaves=8,
)
situations = st.builds(
    Situation,
    st.booleans(),
    st.dictionaries(st.sampled_from(FIELDS), TEXTS),
    st.dictionaries(st.sampled_from(["team", "x", "y"]), TEXTS, max_size=2),
)


def written(tree, draw) -> str:  # noqa: C901, PLR0911  one case for each kind
    match tree:
        case ("text", text):
            return quoted(text)
        case ("field", name):
            return name
        case ("metadata", key):
            return f"commit_metadata[{quoted(key)}]"
        case ("truth", value):
            return str(value).lower()
        case ("success" | "failure" | "always",):
            return f"{tree[0]}()"
        case ("in" | "not in", item, items):
            listed = ", ".join(written(each, draw) for each in items)
            return f"{written(item, draw)} {tree[0]} [{listed}]"
        case ("has", item):
            return f"{written(item, draw)} in commit_metadata"
        case ("not", inner):
            return f"{draw(st.sampled_from(['!', 'not ']))}({written(inner, draw)})"
        case ("equal", left, right):
            return f"({written(left, draw)}) == ({written(right, draw)})"
        case ("and" | "or", left, right):
            signs = {"and": ["&&", "and"], "or": ["||", "or"]}[tree[0]]
            sides = [written(left, draw), written(right, draw)]
            if tree[0] == "and":  # binds more strongly than `or`
                sides = [
                    f"({text})" if side[0] == "or" else text
                    for side, text in zip((left, right), sides, strict=True)
                ]
            return f" {draw(st.sampled_from(signs))} ".join(sides)
        case (sign, left, right):
            return f"{written(left, draw)} {sign} {written(right, draw)}"
    raise AssertionError(tree)


def value(tree, seen: Situation):  # noqa: PLR0911  one for each kind
    match tree:
        case ("text" | "truth", plain):
            return plain
        case ("field", name):
            return seen.fields.get(name, "")
        case ("metadata", key):
            return seen.metadata.get(key, "")
        case ("success",):
            return not seen.failed
        case ("failure",):
            return seen.failed
        case ("always",):
            return True
        case ("in" | "not in", item, items):
            found = value(item, seen) in [value(each, seen) for each in items]
            return found if tree[0] == "in" else not found
        case ("has", item):
            return value(item, seen) in seen.metadata
        case ("not", inner):
            return not value(inner, seen)
    sign, left, right = tree[0], value(tree[1], seen), value(tree[2], seen)
    return {
        "and": lambda: left and right,
        "or": lambda: left or right,
        "equal": lambda: left is right,
        "==": lambda: left == right,
        "!=": lambda: left != right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
        "contains": lambda: right in left,
        "startsWith": lambda: left[: len(right)] == right,
        "endsWith": lambda: right == "" or left[-len(right) :] == right,
    }[sign]()


@given(trees, situations, st.data())
def test_conditions_evaluate_as_a_plain_evaluator_does(tree, seen, data):
    text = written(tree, data.draw)
    assert parse_condition(text).evaluate(seen) is value(tree, seen)


@given(st.text(st.sampled_from(list("abc()[]!=<>&|'\"., \n0é")) | st.characters(), max_size=30))
def test_any_text_parses_or_raises_invalid(text):
    try:
        parse_condition(text)
    except Invalid as error:
        assert error.kind == "invalid_condition"  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "character 1: a value is expected, not 'the end'"),
        ("success", "character 8: '(' is expected"),
        ("success() &&", "character 13: a value is expected"),
        ("branch == 'main'", "character 1: 'branch' is unknown"),
        ("branch_id", "a truth is expected, not a text"),
        ("branch_id == 1", "character 11: `==` does not compare a text and a number"),
        ("branch_id < true", "does not compare a text and a truth"),
        ("'a' in ['a', 1]", "a list has texts alone or numbers alone"),
        ("'a", '"\'" is not expected'),
        ("success() failure()", "character 11: 'failure' is not expected"),
        ("not branch_id", "character 1: a truth is expected, not a text"),
        ("(" * 60 + "true" + ")" * 60, "nested too deeply"),
        ("[" * 60, "nested too deeply"),
        ("a" * 5000, "longer than 4096 characters"),
    ],
)
def test_wrong_condition_names_position_and_cause(text, reason):
    with pytest.raises(Invalid) as caught:
        parse_condition(text)
    assert reason in caught.value.message


def test_negation_binds_more_strongly_than_and_and_that_than_or():
    seen = Situation(True, {}, {})
    assert parse_condition("true or false and false").evaluate(seen)
    assert parse_condition("!false && true").evaluate(seen)
    assert not parse_condition("!(false || true)").evaluate(seen)
    assert parse_condition("1 < 2 and 1.5 in [1.5, 2]").evaluate(seen)
    assert not parse_condition("'a' in []").evaluate(seen)
