"""Laws of three-way merges that hold for every strategy: with the base, with itself, in both
directions, and in any order where nothing conflicts.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.keyed_tables import FORMATS
from support.session.hypothesis_profiles import examples

from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.json_document import json_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy
from anabranch.versioning.strategies.text import text_strategy

QUICK = settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
VALUES = st.sampled_from(["u", "v", "w"])
COLUMNS = ("p", "q")
PLACES = [f"{key}{column}" for key in "123456" for column in COLUMNS]
CHANGES = st.dictionaries(st.sampled_from(PLACES), VALUES, max_size=4)
"""New values of places: cells of a table, members of a document, lines of a text."""


def changed(values, changes):
    return {**values, **changes}


class Table:
    def __init__(self, name):
        self.path = f"t.{name}"
        self.strategy = rows_strategy({"key": "id"})
        self._write, self._read = FORMATS[name]

    def write(self, values):
        rows = {key: {name: values[f"{key}{name}"] for name in COLUMNS} for key in "123456"}
        return self._write(rows, COLUMNS)

    def read(self, content):
        rows, _ = self._read(content)
        return {f"{key}{name}": row[name] for key, row in rows.items() for name in COLUMNS}


class Document:
    path = "d.json"

    def __init__(self):
        self.strategy = json_strategy({})

    def write(self, values):
        nested = {key: {name: values[f"{key}{name}"] for name in COLUMNS} for key in "123456"}
        return json.dumps(nested, indent=2).encode()

    def read(self, content):
        found = json.loads(content)
        return {f"{key}{name}": row[name] for key, row in found.items() for name in COLUMNS}


class Text:
    path = "t.txt"

    def __init__(self):
        self.strategy = text_strategy({})

    def write(self, values):
        # git merges changes of lines that are apart
        return "".join(f"{place}={values[place]}\n{place}\n{place}\n" for place in PLACES).encode()

    def read(self, content):
        lines = content.decode().splitlines()
        return dict(line.split("=") for line in lines if "=" in line)


FORMS = {
    **{name: lambda name=name: Table(name) for name in FORMATS},
    "json": Document,
    "text": Text,
}


def merge(form, base, source, destination):
    """Returns the merged values, None if there are conflicts."""
    sides = {"base": base, "source": source, "destination": destination}
    contents = {side: form.write(values) for side, values in sides.items()}
    run = run_strategy(form.strategy, form.path, **contents)
    return None if run.conflicts else form.read(run.files[form.path])


@pytest.mark.parametrize("name", FORMS)
@QUICK
@given(CHANGES)
@pytest.mark.sample(1)
def test_merges_with_the_base_and_with_itself_give_the_change(name, changes):
    form, base = FORMS[name](), dict.fromkeys(PLACES, "o")
    after = changed(base, changes)
    for sides in ((base, after, base), (base, base, after), (base, after, after)):
        assert merge(form, *sides) == after


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMS)
@QUICK
@given(CHANGES, CHANGES)
def test_both_directions_give_the_same_and_conflict_together(name, one, other):
    form, base = FORMS[name](), dict.fromkeys(PLACES, "o")
    left, right = changed(base, one), changed(base, other)
    merged = merge(form, base, left, right)
    assert merge(form, base, right, left) == merged
    clashing = any(one[place] != other[place] for place in one.keys() & other.keys())
    assert (merged is None) == clashing
    assert clashing or merged == changed(left, other)


@pytest.mark.parametrize("name", FORMS)
@QUICK
@given(CHANGES, CHANGES, CHANGES)
@pytest.mark.slow
def test_three_changes_that_do_not_conflict_merge_in_any_order(name, first, second, third):
    form, base = FORMS[name](), dict.fromkeys(PLACES, "o")
    # of two changes of one place, the first is kept
    second = {place: value for place, value in second.items() if place not in first}
    known = first.keys() | second.keys()
    third = {place: value for place, value in third.items() if place not in known}
    one, two, three = (changed(base, changes) for changes in (first, second, third))
    left = merge(form, base, merge(form, base, one, two), three)
    right = merge(form, base, one, merge(form, base, two, three))
    other = merge(form, base, two, merge(form, base, three, one))
    assert left == right == other == {**base, **first, **second, **third}
