"""Runs commands in this process, on streams that are or are not a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import uuid
from typing import Any, NamedTuple

import pytest
from support.linked_folders import write

from anabranch.cli.main import main


class Stream(io.TextIOWrapper):
    """A text stream over bytes in memory that can say it is a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def content(self) -> bytes:
        return self.buffer.getvalue()


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.lines]

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.err.splitlines()[-1])["error"]


class Runner:
    """Runs the command line in a home of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch

    def __call__(self, *words: str, stdin: bytes | str = b"", terminal: bool = False) -> Ran:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = Stream(terminal=terminal), Stream(terminal=terminal)
        with self.patch.context() as patch:
            patch.setattr(sys, "stdin", Stream(content, terminal=terminal and bool(content)))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main([str(word) for word in words])
        return Ran(code, out.content(), err.content().decode())

    def ok(self, *words: str, **options: Any) -> Ran:
        """Runs a command that must succeed."""
        ran = self(*words, **options)
        assert ran.code == 0, ran.err
        return ran


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with nothing in it, and an environment that names no server."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith(("ANABRANCH_", "LAKECTL_", "XDG_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("NO_COLOR", "1")
    time.tzset()
    yield folder
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def run(home, monkeypatch):  # noqa: ARG001  the home must be there
    """Runs commands without any server."""
    return Runner(monkeypatch)


@pytest.fixture
def ana(server, run, monkeypatch):
    """Runs commands against the server of the tests."""
    monkeypatch.setenv("ANABRANCH_SERVER", server.url)
    monkeypatch.setenv("ANABRANCH_ACCESS_KEY_ID", server.access_key_id)
    monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", server.secret_access_key)
    return run


class Lake:
    """A repository of one test, and short words to fill it."""

    def __init__(self, ana: Runner, name: str, namespace: str) -> None:
        self.ana = ana
        self.name = name
        self.uri = f"lakefs://{name}"
        ana.ok("repo", "create", self.uri, namespace)

    def at(self, place: str) -> str:
        return f"{self.uri}/{place}"

    def put(self, place: str, content: bytes | str) -> None:
        self.ana.ok("fs", "upload", "-s", "-", self.at(place), stdin=content)

    def commit(self, branch: str, message: str, **contents: str) -> str:
        """Writes one object for each keyword, commits, and returns the commit's id."""
        for name, content in contents.items():
            self.put(f"{branch}/{name}", content)
        ran = self.ana.ok("commit", self.at(branch), "-m", message, "--json")
        return ran.json["id"]

    def branch(self, name: str, source: str = "main") -> None:
        self.ana.ok("branch", "create", self.at(name), "-s", source)

    def merge(self, source: str, into: str, *options: str) -> str:
        ran = self.ana.ok("merge", self.at(source), into, "--json", *options)
        return ran.json["reference"]

    def head(self, ref: str) -> str:
        return self.ana.ok("show", self.at(ref), "--json").json["id"]

    def read(self, place: str) -> bytes:
        return self.ana.ok("fs", "cat", self.at(place)).raw


@pytest.fixture
def lake(ana, server):
    """An empty repository with the branch main."""
    name = f"cli-{uuid.uuid4().hex[:12]}"
    return Lake(ana, name, f"{server.storage}{name}")


@pytest.fixture
def cloned(ana, lake, tmp_path):
    """A clone of the path data/ on main, with the files a, b and c/d."""
    for path in ("data/a", "data/b", "data/c/d", "other"):
        lake.put(f"main/{path}", path)
    lake.commit("main", "base")
    folder = tmp_path / "clone"
    ana.ok("local", "clone", lake.at("main/data/"), folder)
    return lake, folder


@pytest.fixture
def diverged(cloned):
    """The clone, with a changed there and on the branch, where b is removed and e is new, too."""
    lake, folder = cloned
    write(folder / "a", "local")
    write(folder / "mine", "mine")
    lake.ana.ok("fs", "rm", lake.at("main/data/b"))
    lake.put("main/data/e", "remote e")
    lake.put("main/data/a", "remote a")
    return lake, folder, lake.commit("main", "theirs")
