"""Strategies of installed packages: what they settle, and how they may fail."""

import os
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.eventually import eventually

from anabranch.errors import Invalid, MergeConflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.registry import make_strategy

pytestmark = pytest.mark.usefixtures("installed")

STRATEGIES = """
    import os, sys, time
    from anabranch.errors import Conflict
    from anabranch.versioning.strategies.contract import ContentConflict

    class Strategy:
        def __init__(self, options):
            self.options = options

    class Longest(Strategy):
        def merge(self, conflict, output):
            print("to standard output, which must not disturb")
            sides = ("source", "destination")
            versions = [conflict.read(side, conflict.path) for side in sides]
            best = max((v for v in versions if v), key=lambda version: version.size)
            with best.open() as read, output.create(conflict.path) as written:
                written.write(read.read() + self.options.get("end", "").encode())
            for path in list(conflict.list("source", "extra/")):
                output.take(path, "source")
            if self.options.get("delete"):
                output.delete(self.options["delete"])
            return []

    class Conflicting(Strategy):
        def merge(self, conflict, output):
            with output.create(conflict.path) as written:
                written.write(b"half done")
            with conflict.base.open() as stream:
                base = stream.read().decode()
            return [ContentConflict(key={"id": 7}, column="price", base=base, source=[1])]

    class Raising(Strategy):
        def merge(self, conflict, output):
            with output.create(conflict.path) as written:
                written.write(b"half done")
            raise ZeroDivisionError("by nothing")

    class Refusing(Strategy):
        def merge(self, conflict, output):
            raise Conflict("the third column is odd")

    class Hanging(Strategy):
        def merge(self, conflict, output):
            if os.fork() == 0:
                time.sleep(600)
            time.sleep(600)

    class Exiting(Strategy):
        def merge(self, conflict, output):
            print("last words", file=sys.stderr)
            os._exit(3)

    class Nothing(Strategy):
        def merge(self, conflict, output):
            return []

    class Environment(Strategy):
        def merge(self, conflict, output):
            with output.create(conflict.path) as written:
                written.write(" ".join(sorted(os.environ)).encode())
            return []

    class Nonsense(Strategy):
        def merge(self, conflict, output):
            return ["what"]
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package with the strategies."""
    folder = tmp_path / "site"
    info = folder / "own_strategies-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "own_strategies.py").write_text(textwrap.dedent(STRATEGIES))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-strategies\nVersion: 1.0\n")
    names = [
        line.split()[1].partition("(")[0].rstrip(":")
        for line in STRATEGIES.splitlines()
        if "class " in line and "(Strategy)" in line
    ]
    points = "".join(f"{name.lower()} = own_strategies:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(
        f"[anabranch.merge_strategies]\n{points}missing = own_strategies:Missing\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))


def run(name, options=None, **sides):
    contents = {"base": b"0", "source": b"11", "destination": b"2", **sides}
    return run_strategy(make_strategy(name, options or {}), "a.txt", **contents)


def test_a_strategy_reads_versions_and_writes_content():
    assert run("longest", {"end": "!"}).files == {"a.txt": b"11!"}


def test_a_strategy_reads_and_settles_other_paths():
    source = {"a.txt": b"11", "extra/1": b"e", "extra/2": b"f"}
    files = run("longest", {"delete": "b"}, source=source).files
    assert files == {"a.txt": b"11", "extra/1": b"e", "extra/2": b"f", "b": None}


def test_a_strategy_knows_none_of_the_secrets_in_the_environment_of_the_server(monkeypatch):
    monkeypatch.setenv("ANABRANCH_AUTH_ENCRYPT_SECRET_KEY", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    names = set(run("environment").files["a.txt"].decode().split())
    assert {"PYTHONPATH", "LC_ALL"} <= names
    allowed = {
        "PATH",
        "PYTHONPATH",
        "LD_LIBRARY_PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
    }
    assert names <= allowed


def test_deleted_versions_are_none():
    assert run("longest", source=None).files == {"a.txt": b"2"}


def test_conflicts_are_returned_with_their_values():
    (conflict,) = run("conflicting").conflicts
    assert (conflict.key, conflict.column) == ({"id": 7}, "price")
    assert (conflict.base, conflict.source, conflict.destination) == ("0", [1], None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raising", "ZeroDivisionError: by nothing"),
        ("refusing", "the third column is odd"),
        ("exiting", "last words"),
        ("missing", "AttributeError"),
        ("nothing", "neither settled the path"),
        ("nonsense", "the strategy nonsense failed"),
    ],
)
@pytest.mark.sample(1)
def test_a_strategy_that_fails_leaves_the_conflict_open(lake, name, reason):
    lake.diverge({"a": b"0"}, {"a": b"1"}, {"a": b"2"})
    before, stored = lake.tree("main"), lake.blocks()
    (conflict,) = lake.preview(("a", name)).conflicts
    assert reason in conflict.reason
    assert conflict.strategy == name
    with pytest.raises(MergeConflict, match="conflict found: a: ") as refused:
        lake.merge(("a", name))
    assert reason in refused.value.message
    assert lake.tree("main") == before
    assert lake.blocks() == stored


def processes_with(folder):
    """Returns the ids of the processes whose environment names a folder."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended
            if os.fsencode(folder) in environment.read_bytes():
                found.append(environment.parent.name)
    return found


def test_a_strategy_that_hangs_is_killed_with_all_it_started(lake, tmp_path):
    lake.diverge({"a": b"0"}, {"a": b"1"}, {"a": b"2"})
    start = time.monotonic()
    with pytest.raises(MergeConflict, match=r"did not finish within 1\.5 s"):
        lake.merge(("a", "hanging", {"timeout": 1.5}))
    assert time.monotonic() - start < 60
    eventually(lambda: processes_with(tmp_path) == [])


@pytest.mark.parametrize("timeout", [0, -1, "5", True, 1e9, None])
def test_wrong_timeouts_are_refused(timeout):
    with pytest.raises(Invalid, match="option timeout") as refused:
        make_strategy("longest", {"timeout": timeout})
    assert refused.value.kind == "invalid_merge_options"


def test_content_is_stored_by_a_merge_and_not_by_its_dry_run(lake):
    lake.diverge({"a": b"0"}, {"a": b"11"}, {"a": b"2"})
    stored = lake.blocks()
    rule = "a", "longest", {"end": "!"}
    assert [tuple(each) for each in lake.preview(rule).settled] == [("a", "longest")]
    assert lake.blocks() == stored
    lake.merge(rule)
    assert lake.read("main", "a") == b"11!"
    assert len(lake.blocks() - stored) == 1
    entry = lake.core.objects.get(lake.repository, "main", "a")
    assert (entry.content_type, entry.metadata) == ("text/plain", {"of": "test"})


def test_content_that_a_side_has_is_not_stored_again(lake):
    lake.diverge({"a": b"0"}, {"a": b"11"}, {"a": b"2"})
    stored = lake.blocks()
    lake.merge(("a", "longest"))
    assert lake.blocks() == stored
    source = lake.core.objects.get(lake.repository, "dev", "a")
    assert lake.core.objects.get(lake.repository, "main", "a") == source


def test_the_module_runs_without_a_parent_that_waits():
    module = "anabranch.versioning.strategies.strategy_process"
    ended = subprocess.run(
        [sys.executable, "-m", module], input=b"", capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 1
