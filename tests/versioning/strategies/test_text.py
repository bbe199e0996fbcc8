"""The strategy `text`, compared with `git merge-file` and with what users expect of it."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies import text
from anabranch.versioning.strategies.text import text_strategy

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\n"]), max_size=8).map(b"".join)
TEXTS = st.tuples(LINES, st.sampled_from([b"", b"end"])).map(b"".join)


def run(base, source, destination):
    return run_strategy(
        text_strategy({}), "a.txt", base=base, source=source, destination=destination
    )


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_is_that_of_git(tmp_path_factory, base, source, destination):
    folder = tmp_path_factory.mktemp("git")
    for name, content in (("base", base), ("source", source), ("destination", destination)):
        (folder / name).write_bytes(content)
    git = subprocess.run(
        ["git", "merge-file", "-p", "destination", "base", "source"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    merged = run(base, source, destination)
    if git.returncode == 0:
        assert merged.files == {"a.txt": git.stdout}
    else:
        assert merged.files == {}
        assert merged.conflicts


@settings(max_examples=20, deadline=None)
@given(TEXTS, TEXTS)
def test_merges_with_the_base_and_with_itself_change_nothing(base, changed):
    assert run(base, changed, base).files == {"a.txt": changed}
    assert run(base, base, changed).files == {"a.txt": changed}
    assert run(base, changed, changed).files == {"a.txt": changed}


def test_changes_of_different_lines_are_merged():
    base = b"".join(b"%d\n" % number for number in range(20))
    ours, theirs = base.replace(b"\n3\n", b"\nthree\n"), base.replace(b"15\n", b"")
    expected = ours.replace(b"15\n", b"")
    assert run(base, theirs, ours).files == {"a.txt": expected}


def test_conflicts_name_the_line_of_the_base_and_the_three_texts():
    base = b"1\n2\n3\n4\n5\n6\n7\n"
    source = base.replace(b"3\n", b"three\n").replace(b"7\n", b"seven\n")
    destination = base.replace(b"3\n", b"III\n").replace(b"7\n", b"VII\n")
    first, second = run(base, source, destination).conflicts
    assert (first.key, first.base, first.source, first.destination) == (
        {"line": 3},
        "3\n",
        "three\n",
        "III\n",
    )
    assert second.key == {"line": 7}


def test_lines_like_conflict_markers_are_text():
    base = b"<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n"
    (conflict,) = run(base, base + b"x\n", base + b"y\n").conflicts
    assert (conflict.source, conflict.destination) == ("x\n", "y\n")


def test_texts_that_both_sides_added_conflict_where_they_differ():
    assert run(None, b"1\n", b"1\n").files == {"a.txt": b"1\n"}
    (conflict,) = run(None, b"1\n2\n", b"1\n3\n").conflicts
    assert (conflict.base, conflict.source, conflict.destination) == (
        "",
        "1\n2\n",
        "1\n3\n",
    )


@pytest.mark.parametrize(("source", "destination"), [(None, b"1\n"), (b"1\n", None)])
def test_deletions_against_changes_conflict(source, destination):
    (conflict,) = run(b"0\n", source, destination).conflicts
    assert "deleted the text" in conflict.message


@pytest.mark.parametrize("side", ["base", "source", "destination"])
def test_binary_content_is_refused_with_its_side(side):
    sides = {"base": b"0\n", "source": b"1\n", "destination": b"2\n", side: b"\x00\x01"}
    with pytest.raises(Conflict, match=f"the {side} is binary") as refused:
        run(**sides)
    assert refused.value.kind == "merge_failed"


def test_texts_that_are_too_long_are_refused(monkeypatch):
    monkeypatch.setattr(text, "MAX_BYTES", 3)
    with pytest.raises(Conflict, match="the source has 4 bytes"):
        run(b"1\n", b"123\n", b"2\n")


def test_options_are_refused():
    with pytest.raises(Invalid, match="no option 'key'") as refused:
        text_strategy({"key": ["id"]})
    assert refused.value.kind == "invalid_merge_options"


def test_hundred_thousand_lines_are_merged():
    base = b"".join(b"line %d\n" % number for number in range(100_000))
    source = base.replace(b"line 99990\n", b"changed\n")
    destination = base.replace(b"line 10\n", b"changed\n")
    expected = source.replace(b"line 10\n", b"changed\n")
    assert run(base, source, destination).files == {"a.txt": expected}
