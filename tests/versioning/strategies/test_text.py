"""The strategy `text`, compared with `git merge-file` and with what users expect of it."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies import text
from anabranch.versioning.strategies.text import text_strategy
from anabranch.versioning.strategies.text_regions import base_starts, read_regions

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\n"]), max_size=8).map(b"".join)
TEXTS = st.tuples(LINES, st.sampled_from([b"", b"end"])).map(b"".join)


def run(base, source, destination):
    return run_strategy(
        text_strategy({}), "a.txt", base=base, source=source, destination=destination
    )


@settings(max_examples=examples(40), deadline=None)
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


@settings(max_examples=examples(20), deadline=None)
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


@pytest.mark.parametrize("letter", [b"<", b"|", b"=", b">"])
@pytest.mark.parametrize("length", [59, 60, 61, 64, 5000])
@pytest.mark.parametrize("end", [b"\n", b" a name\n", b"\r\n"])
@pytest.mark.sample(10)
def test_lines_of_any_number_of_marker_letters_are_text(letter, length, end):
    line = letter * length + end
    (conflict,) = run(line + b"0\n", line + b"1\n" + line, line + b"2\n").conflicts
    assert conflict.key == {"line": 2}
    expected = "0\n", (b"1\n" + line)[:4000].decode(), "2\n"
    assert (conflict.base, conflict.source, conflict.destination) == expected


def test_lines_of_all_marker_lengths_are_refused():
    lines = b"".join(b">" * length + b"\n" for length in range(60, 100))
    with pytest.raises(Conflict, match="lines like conflict markers"):
        run(lines + b"0\n", lines + b"1\n", lines + b"2\n")
    assert run(lines[61:] + b"0\n", lines[61:] + b"1\n", lines[61:] + b"2\n").conflicts


def numbered(*changes):
    """Returns 60 lines, of which `changes` replace those with these numbers, from 1."""
    lines = [b"line %d\n" % number for number in range(1, 61)]
    for number, content in changes:
        lines[number - 1] = content
    return b"".join(lines)


def test_of_equal_lines_the_one_that_both_sides_changed_is_named():
    base = numbered((4, b"same\n"), (41, b"same\n"))
    source = numbered((4, b"same\n"), (41, b"S\n"))
    destination = numbered((4, b"same\n"), (41, b"D\n"))
    assert [each.key for each in run(base, source, destination).conflicts] == [{"line": 41}]


def test_of_equal_lines_those_that_one_side_changed_are_passed_over():
    base = numbered((4, b"same\n"), (20, b"same\n"), (41, b"same\n"))
    source = numbered((4, b"S\n"), (20, b"same\n"), (41, b"S\n"))
    destination = numbered((4, b"same\n"), (20, b"D\n"), (41, b"D\n"))
    assert [each.key for each in run(base, source, destination).conflicts] == [{"line": 41}]


@pytest.mark.parametrize("line", [1, 31, 51, 60])
def test_lines_that_both_sides_inserted_are_named_by_the_line_that_follows(line):
    kept = numbered((line, b"line %d\n" % line))
    source = numbered((line, b"S\nline %d\n" % line))
    destination = numbered((line, b"D\nline %d\n" % line))
    (conflict,) = run(kept, source, destination).conflicts
    assert (conflict.key, conflict.base) == ({"line": line}, "")


def test_lines_that_both_sides_appended_follow_the_last():
    (conflict,) = run(numbered(), numbered() + b"S", numbered() + b"D\n").conflicts
    assert conflict.key == {"line": 61}


SHORT = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"-\n", b"@@ -1 +1 @@\n"]), max_size=14)
SHORT = st.tuples(SHORT.map(b"".join), st.sampled_from([b"", b"", b"end"])).map(b"".join)


@settings(max_examples=examples(60), deadline=None)
@given(SHORT, SHORT, SHORT)
def test_regions_begin_where_git_finds_their_text_in_the_base(
    tmp_path_factory, base, source, destination
):
    folder = tmp_path_factory.mktemp("git")
    for name, content in (("base", base), ("source", source), ("destination", destination)):
        (folder / name).write_bytes(content)
    names = "destination", "base", "source"
    git = subprocess.run(
        ["git", "merge-file", "-p", "--diff3", "--marker-size=60", *names],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    regions = list(read_regions(git.stdout.splitlines(keepends=True), 60))
    starts = base_starts(*(str(folder / name) for name in ("base", "source", "destination")), 60)
    assert len(regions) == len(starts) == git.returncode
    lines = [line.removesuffix(b"\n") for line in base.splitlines(keepends=True)]
    for region, start in zip(regions, starts, strict=True):
        found = [line.removesuffix(b"\n") for line in region.base]
        assert lines[start : start + len(found)] == found
    assert starts == sorted(starts)


def test_the_configuration_of_git_does_not_move_regions(tmp_path, monkeypatch):
    config = tmp_path / ".gitconfig"
    config.write_text(
        "[diff]\n\talgorithm = patience\n\texternal = false\n[core]\n\tautocrlf = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    base, source, destination = (numbered((41, text)) for text in (b"0\r\n", b"1\r\n", b"2\r\n"))
    assert [each.key for each in run(base, source, destination).conflicts] == [{"line": 41}]


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
