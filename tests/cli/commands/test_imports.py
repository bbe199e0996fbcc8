"""`import` against a real server that may import from a folder."""

from __future__ import annotations

import io
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from support.faults.faulty_proxy import FaultyProxy
from support.faults.scripted_socket import ScriptedSocket, answer

from anabranch.cli.output.progress import show_progress
from anabranch.cli.output.streams import Output


@pytest.fixture
def ana(importing, run, monkeypatch):
    """Runs commands against that server."""
    monkeypatch.setenv("ANABRANCH_SERVER", importing.url)
    monkeypatch.setenv("ANABRANCH_ACCESS_KEY_ID", importing.access_key_id)
    monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", importing.secret_access_key)
    return run


@pytest.fixture
def uri(ana):
    """The address of a new repository."""
    uri = f"lakefs://cli-{uuid.uuid4().hex[:12]}"
    ana.ok("repo", "create", uri, f"local://{uri.removeprefix('lakefs://')}")
    return uri


@pytest.fixture
def raw(import_folder):
    """A folder with two files."""
    folder = import_folder / uuid.uuid4().hex
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_text("a")
    (folder / "deep/b").write_text("bb")
    return f"local://{folder}/"


def test_a_folder(ana, uri, raw):
    ran = ana.ok(
        *("import", "--from", raw, "--to", f"{uri}/main/x", "-m", "Bring in", "--meta", "k=v")
    )
    assert ran.lines[0] == f"Imported 2 objects to {uri}/main/x"
    head = ana.ok("show", f"{uri}/main", "--json").json
    assert head["id"] in ran.lines[1]
    assert (head["message"], head["metadata"]["k"]) == ("Bring in", "v")
    assert ana.ok("fs", "cat", f"{uri}/main/x/deep/b").out == "bb"


def test_pulling_an_image_whose_source_was_replaced_leaves_nothing(ana, uri, raw, tmp_path):
    tag, folder = uri.rpartition("/")[2], tmp_path / "pulled"
    ana.ok("image", "build", "-t", tag, "-f", "-", stdin=f"ADD {raw}a a")
    source = Path(raw.removeprefix("local://")) / "a"
    source.write_text("another")
    ran = ana("image", "pull", tag, folder)
    assert ran.code == 1
    assert "was replaced" in ran.err
    assert "Build a new image" in ran.err
    assert "deleted" not in ran.err
    assert list(folder.iterdir()) == []
    source.unlink()
    ran = ana("image", "pull", tag, folder)
    assert "that the image pins was deleted" in ran.err
    assert "Restore the object" in ran.err
    assert list(folder.iterdir()) == []


def test_what_was_pulled_before_the_source_was_replaced_is_not_kept(
    ana, importing, uri, raw, tmp_path, monkeypatch
):
    tag, folder = uri.rpartition("/")[2], tmp_path / "pulled"
    source = Path(raw.removeprefix("local://")) / "a"
    source.write_bytes(bytes(range(256)) * (9 << 12))
    ana.ok("image", "build", "-t", tag, "-f", "-", stdin=f"ADD {raw}a a")
    url = urlsplit(importing.url)
    with FaultyProxy((url.hostname, url.port)) as proxy:
        monkeypatch.setenv("ANABRANCH_SERVER", f"http://127.0.0.1:{proxy.port}")
        proxy.pass_answers(6 << 20)
        assert "broke" in ana("image", "pull", tag, folder).err
    monkeypatch.setenv("ANABRANCH_SERVER", importing.url)
    (partial,) = folder.iterdir()
    assert partial.stat().st_size
    source.write_text("another")
    assert "was replaced" in ana("image", "pull", tag, folder).err
    assert list(folder.iterdir()) == []


def test_one_object_and_json(ana, uri, raw):
    status = ana.ok(
        *("import", "--from", f"{raw}a", "--to", f"{uri}/main/one", "--object", "--json")
    ).json
    assert (status["completed"], status["ingested_objects"]) == (True, 1)
    assert status["commit"]["id"] == ana.ok("show", f"{uri}/main", "--json").json["id"]
    assert status["commit"]["message"] == "Import objects"
    assert ana.ok("fs", "cat", f"{uri}/main/one").out == "a"


def test_a_terminal_sees_it_move(ana, uri, raw):
    ran = ana.ok("import", "--from", raw, "--to", f"{uri}/main/x", terminal=True)
    assert "Importing" in ran.err
    ran = ana.ok("import", "--from", raw, "--to", f"{uri}/main/x", "--no-progress", terminal=True)
    assert ran.err == "engine: server, which lists its store itself\n"


def test_what_goes_wrong(ana, uri, raw):
    before = ana.ok("show", f"{uri}/main", "--json").json["id"]
    ran = ana("import", "--from", f"{raw}nowhere/", "--to", f"{uri}/main/x")
    assert ran.code == 1
    assert "import error: " in ran.err
    assert "there is no such folder" in ran.err
    assert "hint:  The branch was not changed" in ran.err
    ran = ana("import", "--from", "local:///etc/", "--to", f"{uri}/main/x")
    assert "not in allowed external prefixes" in ran.err
    assert ana("import", "--from", raw).code == 2
    assert ana("import", "--from", raw, "--to", uri).code == 2
    assert ana.ok("show", f"{uri}/main", "--json").json["id"] == before


STATE = b'{"completed": false, "update_time": "2024-01-01T00:00:00Z", "ingested_objects": 5}'


@pytest.fixture
def play(run, monkeypatch):
    """Runs an import against a server with given responses."""
    sockets = []

    def play(*answers):
        socket = ScriptedSocket([answer("202 Accepted", b'{"id": "i"}'), *answers])
        sockets.append(socket)
        monkeypatch.setenv("ANABRANCH_SERVER", socket.url)
        return run("import", "--from", "s3://b/", "--to", "lakefs://sea/main/x"), socket.requests

    yield play
    for socket in sockets:
        socket.close()


def interrupt(_seconds):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (answer("204 No Content", b""), "cancelled; lakefs://sea/main was not changed"),
        (answer("409 Conflict", b'{"message": "conflict found"}'), "too late"),
    ],
)
def test_ctrl_c_cancels(play, monkeypatch, reply, status):
    monkeypatch.setattr(
        "anabranch.cli.jobs.poll_job.time",
        SimpleNamespace(monotonic=time.monotonic, sleep=interrupt),
    )
    ran, requests = play(answer("200 OK", STATE), reply)
    assert ran.code == 130
    assert status in ran.err
    path = b" /api/v1/repositories/sea/branches/main/import"
    assert [request.partition(b"?")[0].partition(b" HTTP")[0] for request in requests] == [
        b"POST" + path,
        b"GET" + path,
        b"DELETE" + path,
    ]
    assert b"?id=i " in requests[2]


def test_a_server_that_falls_silent_is_not_waited_for(play, monkeypatch):
    monkeypatch.setattr("anabranch.cli.jobs.poll_job.UPDATE_TIMEOUT", 0.05)
    ran, _ = play(*[answer("200 OK", STATE)] * 2)
    assert ran.code == 1
    assert "the import i has not been updated" in ran.err


def test_lines_come_every_ten_seconds():
    now = [0.0]
    err = io.StringIO()
    with show_progress(Output(io.StringIO(), err), rate=True, clock=lambda: now[0]) as progress:
        progress.begin("Importing", 0)
        done = 0
        for seconds, number in ((1, 10), (10, 100), (11, 200), (20, 300), (31, 300)):
            now[0] = seconds
            progress.advance(number - done)
            done = number
    assert err.getvalue().splitlines() == [
        "Importing: 100 objects, 10 a second",
        "Importing: 300 objects, 15 a second",
    ]
