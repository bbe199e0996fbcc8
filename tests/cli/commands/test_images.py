"""`image` against real servers: built, listed, shown, compared, downloaded, removed."""

from __future__ import annotations

import uuid
from urllib.parse import urlsplit

import pytest
from support.faults.faulty_proxy import FaultyProxy

from anabranch.client.rest_client import CHUNK

TEXT = """\
ARG FOLDER=a
FROM {lake}/v1
# what is new
ADD {lake}/main/${{FOLDER}}/ "again/"
LABEL "author=oz.katz" stage=test
"""


@pytest.fixture
def repo(lake):
    """A repository with three objects, tagged v1."""
    lake.put("main/a/1", "one")
    lake.put("main/a/2", "two")
    lake.commit("main", "first", b="three")
    lake.ana.ok("tag", "create", lake.at("v1"), "main")
    return lake


@pytest.fixture
def tag():
    """A tag that no image has."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def lakefile(repo, tmp_path):
    """A Lakefile over the repository."""
    path = tmp_path / "Lakefile"
    path.write_text(TEXT.format(lake=repo.uri))
    return path


def test_from_building_to_removal(ana, repo, tag, lakefile):
    dry = ana.ok("image", "build", "-t", tag, "-f", lakefile, "--dry-run", "--json").json
    assert (dry["objects"], dry["labels"]) == (5, {"author": "oz.katz", "stage": "test"})
    assert ana("image", "show", tag).code == 1

    ran = ana.ok("image", "build", "-t", tag, "-f", lakefile)
    assert f" {dry['digest']}\n" in ran.out
    assert f" lakefs://image/{tag}\n" in ran.out
    assert "-> again/ (2 objects, 6 B)" in ran.out
    assert "warning: line 4: " in ran.err

    shown = ana.ok("image", "show", f"lakefs://image:{tag}", "--json").json
    assert shown["digest"] == dry["digest"]
    assert ana.ok("image", "show", tag, "--lakefile").out == lakefile.read_text()
    (row,) = ana.ok("image", "ls", "--prefix", tag).rows
    assert row[0] == tag
    assert row[2:] == ["5", "17", dry["digest"], "author=oz.katz stage=test"]
    assert ana.ok("image", "ls", "--prefix", tag, "--label", "author=nobody").rows == []
    assert len(ana.ok("image", "ls", "--prefix", tag, "--label", "stage=test").rows) == 1

    other = ["image", "build", "-t", f"{tag}-b", "-f", lakefile, "--arg", "FOLDER=a", "--json"]
    assert ana.ok(*other).json["digest"] == dry["digest"]
    lake_b = [f"{tag}-c", f"FROM lakefs://image:{tag}\nADD {repo.uri}/v1/b c"]
    ana.ok("image", "build", "-t", lake_b[0], "-f", "-", stdin=lake_b[1])
    assert ana.ok("image", "diff", tag, lake_b[0]).rows == [["added", "c"]]
    assert ana.ok("image", "diff", lake_b[0], tag, "--json").json[0]["type"] == "removed"
    ran = ana.ok("fs", "cat", f"lakefs://image:{tag}/again/2")
    assert ran.out == "two"

    assert ana.ok("image", "rm", tag, "-y").out == f"Removed lakefs://image/{tag}\n"
    assert ana("image", "show", tag).code == 1
    assert ana.ok("fs", "cat", f"lakefs://image:{lake_b[0]}/again/2").out == "two"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("FROM {lake}/v1\n  ADD {lake}/v1/nothing/ x\n", 2, "there is nothing to add"),
        ("ADD {lake}/v1/a/ x\n FROM scratch\n", 2, "expected"),
        ("ARG DATE\nADD {lake}/${{DATE}}/ x", 1, "expected a value"),
    ],
)
def test_errors_show_their_line(ana, repo, tag, tmp_path, text, line, message):
    file, text = tmp_path / "inputs.lake", text.format(lake=repo.uri)
    file.write_text(text)
    for options in ([], ["--dry-run"]):
        ran = ana("image", "build", "-t", tag, "-f", file, *options)
        first, shown, caret = ran.err.splitlines()[:3]
        place, _, reason = first.partition(": ")[2].partition(": ")
        assert (ran.code, place.rpartition(":")[0]) == (1, f"{file}:{line}")
        assert message in reason
        assert shown == f"         {text.splitlines()[line - 1]}"
        column = int(place.rpartition(":")[2])
        assert caret == " " * (9 + column - 1) + "^"
    assert ana("image", "show", tag).code == 1


def test_what_is_refused(ana, repo, tag, lakefile, tmp_path):
    ran = ana("image", "build", "-t", tag, "-f", lakefile, "--strict")
    assert (ran.code, "strict builds reject it" in ran.err) == (1, True)
    assert ana("image", "build", "-t", tag, "-f", tmp_path / "missing").code == 1
    assert ana("image", "build", "-f", lakefile).code == 2
    assert ana("image", "build", "-t", repo.at("v1"), "-f", lakefile).code == 2
    assert ana("image", "build", "-t", tag, "-f", lakefile, "--arg", "FOLDER").code == 2
    ran = ana("image", "build", "-t", tag, "-f", lakefile, "--arg", "OTHER=x")
    assert "no ARG OTHER" in ran.err
    ran = ana("image", "build", "-t", tag, "-f", lakefile, "--arg", "FOLDER=a", "--arg", "FOLDER=b")
    assert (ran.code, "given twice" in ran.err) == (2, True)
    empty = f"ADD {repo.uri}/v1/nothing/ x"
    assert ana("image", "build", "-t", tag, "-f", "-", stdin=empty).code == 1
    ana.ok("image", "build", "-t", tag, "-f", "-", "--allow-empty", stdin=empty)
    ran = ana("image", "build", "-t", tag, "-f", lakefile, "--json")
    assert (ran.code, ran.error["status"]) == (1, 409)


def test_a_long_build_is_waited_for(ana, tag, lakefile, monkeypatch):
    monkeypatch.setattr("anabranch.cli.commands.image.build._WAIT_SECONDS", 0)
    ran = ana.ok("image", "build", "-t", tag, "-f", lakefile, "--json")
    assert ran.json["tag"] == tag
    assert ana.ok("image", "show", tag, "--json").json == ran.json


def test_pulling(ana, tag, lakefile, tmp_path):
    ana.ok("image", "build", "-t", tag, "-f", lakefile)
    folder = tmp_path / "in" / "puts"

    def pull():
        return {row[0]: row[2] for row in ana.ok("image", "pull", tag, folder).rows}

    assert pull() == dict.fromkeys(("a/1", "a/2", "again/1", "again/2", "b"), "downloaded")
    contents = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert contents == {
        "a/1": "one",
        "a/2": "two",
        "again/1": "one",
        "again/2": "two",
        "b": "three",
    }
    (folder / "a/1").write_text("two")
    (folder / "b").unlink()
    (folder / "mine").write_text("mine")
    kept = dict.fromkeys(("a/2", "again/1", "again/2"), "kept")
    assert pull() == {**kept, "a/1": "downloaded", "b": "downloaded"}
    assert (folder / "a/1").read_text() == "one"
    assert (folder / "mine").read_text() == "mine"
    assert "Downloaded 0 objects" in ana.ok("image", "pull", tag, folder, terminal=True).out


@pytest.mark.slow
def test_pull_continues_in_the_middle_of_an_object(ana, server, lake, tag, tmp_path, monkeypatch):
    content = bytes(range(256)) * (9 << 12)
    lake.put("main/big", content)
    lake.commit("main", "big")
    ana.ok("image", "build", "-t", tag, "-f", "-", stdin=f"FROM {lake.uri}/main")
    folder = tmp_path / "in"
    url = urlsplit(server.url)
    with FaultyProxy((url.hostname, url.port)) as proxy:
        monkeypatch.setenv("ANABRANCH_SERVER", f"http://127.0.0.1:{proxy.port}")
        proxy.pass_answers(6 << 20)
        ran = ana("image", "pull", tag, folder)
        assert (ran.code, "broke" in ran.err) == (1, True)
        (partial,) = folder.iterdir()
        assert content.startswith(partial.read_bytes())
        had = partial.stat().st_size
        assert had >= CHUNK
        proxy.reset()
        proxy.passed = 0
        ana.ok("image", "pull", tag, folder)
        assert proxy.passed < len(content) - had + CHUNK
    assert [path.name for path in folder.iterdir()] == ["big"]
    assert (folder / "big").read_bytes() == content

    monkeypatch.setenv("ANABRANCH_SERVER", server.url)
    (folder / "big").unlink()
    partial.write_bytes(b"x" * CHUNK)
    ran = ana("image", "pull", tag, folder)
    assert (ran.code, "were expected" in ran.err) == (1, True)
    assert list(folder.iterdir()) == []
    ana.ok("image", "pull", tag, folder)
    assert (folder / "big").read_bytes() == content
    assert ana.ok("image", "pull", tag, folder).rows[0][2] == "kept"
