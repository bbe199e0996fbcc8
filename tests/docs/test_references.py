"""The tables of docs/references.md hold what they say."""

import re
from pathlib import Path

import pytest

from anabranch.errors import AnabranchError, Invalid
from anabranch.model.names import check_branch, check_new_branch, check_new_tag, check_tag
from anabranch.model.references.expression import parse_expression
from anabranch.model.references.moment import AtOperation, parse_moment
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.testing.histories import History
from anabranch.versioning.history.merge_base import merge_bases
from anabranch.versioning.history.revision_walk import walk_revisions

PAGE = Path(__file__).parents[2] / "docs" / "references.md"


def table(*head):
    """The rows, without backquotes, of the table with this head."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    wanted = f"| {' | '.join(head)} |"
    while next(lines) != wanted:
        pass
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        assert len(cells) == len(head), line
        rows.append(cells)
    assert rows
    return rows


@pytest.fixture(scope="module")
def example():
    history, letters, names = History("page"), {}, {}
    for letter, parents, branch, tag in table("Commit", "Parents", "Branch", "Tag"):
        above = [letters[parent.strip()] for parent in parents.split(",") if parent]
        letters[letter] = history.add(*above)
        names.update({name: letters[letter] for name in (branch, tag) if name})
    return history, letters, names


def resolve(history, names, text):
    expression = parse_expression(text)
    return walk_revisions(history.read, history[names[expression.base]], expression.modifiers).id


@pytest.mark.parametrize(("name", "allowed"), table("Branch", "Allowed"))
def test_branches(name, allowed):
    assert is_allowed(check_branch, name) == allowed


@pytest.mark.parametrize(("name", "allowed"), table("Tag", "Allowed"))
def test_tags(name, allowed):
    assert is_allowed(check_tag, name) == allowed


@pytest.mark.parametrize("check", [check_new_branch, check_new_tag])
def test_new_names_have_the_greatest_length_that_the_page_says(check):
    said = re.search(r"a name of at most ([0-9,]+) bytes", PAGE.read_text(encoding="utf-8"))
    greatest = int(said[1].replace(",", ""))
    assert is_allowed(check, "x" * greatest) == "yes"
    assert is_allowed(check, "x" * (greatest + 1)) == "no"


def is_allowed(check, name):
    try:
        check(name)
    except Invalid:
        return "no"
    return "yes"


@pytest.mark.parametrize(("text", "letter"), table("Expression", "Commit"))
def test_expressions(example, text, letter):
    history, letters, names = example
    assert resolve(history, names, text) == letters[letter]


@pytest.mark.parametrize(
    ("text", "kind", "_reason"), table("Expression", "Kind of error", "Because")
)
def test_errors(example, text, kind, _reason):
    history, _, names = example
    with pytest.raises(AnabranchError) as caught:
        resolve(history, names, text)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("left", "right", "letter"), table("Left", "Right", "Best common ancestor")
)
def test_merge_bases(example, left, right, letter):
    history, letters, names = example
    heads = resolve(history, names, left), resolve(history, names, right)
    assert merge_bases(history.read, *heads) == [letters[letter]]


@pytest.mark.parametrize(
    ("text", "repository", "ref", "key"), table("Address", "Repository", "Ref", "Key")
)
def test_addresses(text, repository, ref, key):
    assert parse_uri(text) == LakeUri(repository, ref, key)


@pytest.mark.parametrize(("base", "text", "whole"), table("Base", "Written", "Means"))
def test_relative_addresses(base, text, whole):
    assert parse_uri(text, base) == parse_uri(whole)


def test_every_modifier_is_on_the_page():
    modifiers = {row[0] for row in table("Modifier", "Selects")}
    assert modifiers == {"~", "~n", "^", "^n", "@", "$"}


def test_each_form_of_a_moment_is_read():
    now = 1_800_000_000.0
    texts = [
        text
        for forms, _ in table("Moment", "Means")
        for text in re.findall("`(.*?)`", f"`{forms}`")
    ]
    assert len(texts) > 10
    moments = {text: parse_moment(text, now) for text in texts}
    assert moments["2 hours ago"] == now - 7200
    assert moments["op:ffe3a1c0b2d4"] == AtOperation("ffe3a1c0b2d4")
