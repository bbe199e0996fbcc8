"""`fs` against a real server."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.session.sizes import sized

from anabranch.cli.commands.fs import upload as fs_upload
from anabranch.cli.commands.fs.save_file import local_path
from anabranch.cli.errors import Failure


@pytest.fixture
def folder(tmp_path):
    """A folder of files with hard names."""
    top = tmp_path / "data"
    for name, content in {
        "a.txt": b"alpha",
        "empty": b"",
        "deep/er/b.bin": bytes(range(256)) * 5000,
        "deep/with space & ü?#%.csv": b"x,y\n",
    }.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return top


def contents(folder) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_one_file_there_and_back(ana, lake, folder, tmp_path):
    ran = ana.ok("fs", "upload", "-s", folder / "deep/er/b.bin", lake.at("main/x/"))
    digest = hashlib.md5((folder / "deep/er/b.bin").read_bytes()).hexdigest()
    assert ran.lines[:2] == [
        f"Object:           {lake.at('main/x/b.bin')}",
        "Size:             1280000",
    ]
    assert ran.lines[3:5] == [
        f"Checksum:         {digest}",
        "Content type:     application/octet-stream",
    ]
    target = tmp_path / "out/back.bin"
    ran = ana.ok("fs", "download", lake.at("main/x/b.bin"), target)
    assert ran.out == f"Downloaded {target}, 1.2 MiB\n"
    assert target.read_bytes() == (folder / "deep/er/b.bin").read_bytes()
    assert [path.name for path in target.parent.iterdir()] == ["back.bin"]


def test_where_a_download_goes(ana, lake, tmp_path, monkeypatch):
    lake.put("main/d/f", "content")
    monkeypatch.chdir(tmp_path)
    ana.ok("fs", "download", lake.at("main/d/f"))
    assert (tmp_path / "f").read_text() == "content"
    ana.ok("fs", "download", lake.at("main/d/f"), "new/")
    assert (tmp_path / "new/f").read_text() == "content"
    (tmp_path / "f").write_text("old")
    ran = ana.ok("fs", "download", lake.at("main/d/f"), tmp_path, "--json")
    assert ran.json == {"path": "d/f", "size_bytes": 7, "file": str(tmp_path / "f")}
    assert (tmp_path / "f").read_text() == "content"


def test_a_folder_there_and_back(ana, lake, folder, tmp_path):
    ran = ana.ok("fs", "upload", "-r", "-s", folder, lake.at("main/in"), "-p", "3")
    assert sorted(row[0] for row in ran.rows) == [
        "in/a.txt",
        "in/deep/er/b.bin",
        "in/deep/with space & ü?#%.csv",
        "in/empty",
    ]
    back = tmp_path / "back"
    ran = ana.ok("fs", "download", "-r", lake.at("main/in"), back, "--json")
    assert sorted(item["size_bytes"] for item in ran.json) == [0, 4, 5, 1280000]
    assert contents(back) == contents(folder)


def test_the_size_of_a_folder_is_known_before_its_first_byte_is_sent(
    ana, lake, folder, monkeypatch
):
    reports = []

    class Recorder:
        def expect(self, size):
            reports.append(("expect", size))

        def advance(self, size):
            reports.append(("advance", size))

    monkeypatch.setattr(fs_upload, "progress", lambda *_: nullcontext(Recorder()))
    ana.ok("fs", "upload", "-r", "-s", folder, lake.at("main/in/"))
    total = sum(size for kind, size in reports if kind == "advance")
    assert [report for report in reports if report[0] == "expect"] == [("expect", total)]
    assert reports[0] == ("expect", total)


def test_a_folder_on_a_terminal(ana, lake, folder, tmp_path):
    ran = ana.ok("fs", "upload", "-r", "-s", folder, lake.at("main/in/"), terminal=True)
    assert ran.out == "Uploaded 4 objects, 1.2 MiB\n"
    assert "Uploading" in ran.err
    ran = ana.ok("fs", "download", "-r", lake.at("main/in/"), tmp_path / "b", terminal=True)
    assert ran.out == f"Downloaded 4 objects into {tmp_path / 'b'}, 1.2 MiB\n"
    ran = ana.ok("fs", "rm", "-r", lake.at("main/in/"), terminal=True)
    assert ran.out == "Removed 4 objects\n"


def test_what_is_no_file_is_left_out_with_a_remark(ana, lake, folder):
    (folder / "link").symlink_to(folder / "a.txt")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    ran = ana.ok("fs", "upload", "-r", "-s", folder, lake.at("main"), "--json")
    assert {item["path"] for item in ran.json} >= {"link", "a.txt"}
    assert len(ran.json) == 5
    assert sorted(ran.err.splitlines()) == [
        f"skipped, not a file: {folder / name}" for name in ("loop", "pipe")
    ]


def test_standard_input_and_content_type(ana, lake):
    big = os.urandom(3 << 20)
    ran = ana.ok(
        *("fs", "upload", "-s", "-", lake.at("main/big"), "--content-type", "text/x-y", "--json"),
        stdin=big,
    )
    assert ran.json["size_bytes"] == len(big)
    assert ran.json["content_type"] == "text/x-y"
    assert lake.read("main/big") == big
    shown = ana.ok("fs", "stat", lake.at("main/big"))
    assert "Content type:     text/x-y" in shown.lines
    assert ana.ok("fs", "stat", lake.at("main/big"), "--json").json["path"] == "big"


def test_listing(ana, lake, folder):
    ana.ok("fs", "upload", "-r", "-s", folder, lake.at("main"))
    ran = ana.ok("fs", "ls", lake.at("main"))
    assert [(row[0], row[2], row[3]) for row in ran.rows] == [
        ("object", "5", "a.txt"),
        ("folder", "", "deep/"),
        ("object", "0", "empty"),
    ]
    lines = ana.ok("fs", "ls", lake.at("main/deep/"), terminal=True).lines
    assert lines[0].split() == ["TYPE", "MODIFIED", "SIZE", "PATH"]
    assert lines[1].split() == ["folder", "deep/er/"]
    assert lines[2].endswith("   4 B  deep/with space & ü?#%.csv")
    ran = ana.ok("fs", "ls", "-r", lake.at("main"), "--amount", "3")
    assert [row[3] for row in ran.rows] == ["a.txt", "deep/er/b.bin", "deep/with space & ü?#%.csv"]
    assert "There is more" in ran.err
    ran = ana.ok("fs", "ls", "-r", lake.at("main"), "--after", "deep/er/b.bin", "--json")
    assert [item["path"] for item in ran.json][-1] == "empty"
    assert ana.ok("fs", "ls", lake.at("main/nothing")).out == ""


def test_removal(ana, lake):
    lake.commit("main", "base", a="1", b="1")
    for name in ("d/1", "d/2", "dd"):
        lake.put(f"main/{name}", "x")
    assert ana.ok("fs", "rm", lake.at("main/a")).out == f"Removed {lake.at('main/a')}\n"
    assert ana.ok("fs", "rm", "-r", lake.at("main/d")).rows == [["d/1"], ["d/2"]]
    assert ana.ok("diff", lake.at("main")).rows == [["removed", "a"], ["added", "dd"]]
    assert ana.ok("fs", "rm", "-r", lake.at("main"), "--json").json == [
        {"path": "b"},
        {"path": "dd"},
    ]
    assert ana.ok("fs", "ls", lake.at("main")).out == ""


@pytest.mark.slow
def test_more_objects_than_a_page(ana, lake, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for number in range(1203):
        (many / f"{number:04}").write_text("")
    ana.ok("fs", "upload", "-r", "-s", many, lake.at("main/m"))
    assert len(ana.ok("fs", "ls", "-r", lake.at("main")).lines) == 1203
    assert len(ana.ok("fs", "rm", "-r", lake.at("main/m")).lines) == 1203
    assert ana.ok("fs", "ls", lake.at("main")).out == ""


def test_a_download_that_fails_leaves_the_old_file(ana, lake, tmp_path):
    old = tmp_path / "old"
    old.write_text("precious")
    ran = ana("fs", "download", lake.at("main/missing"), old)
    assert ran.code == 1
    assert old.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["old"]


def test_single_failures_do_not_stop_the_others(ana, lake, tmp_path):
    for name in ("a", "a/b", "ok/1", "x//y", "z"):
        lake.put(f"main/{name}", name)
    ran = ana("fs", "download", "-r", "-p", "1", lake.at("main"), tmp_path / "out")
    assert ran.code == 1
    assert "2 objects could not be downloaded" in ran.err
    assert "x//y: x//y is not a valid path of a file" in ran.err
    assert contents(tmp_path / "out") == {"a": b"a", "ok/1": b"ok/1", "z": b"z"}


def test_errors(ana, lake, folder):
    lake.put("main/deep/file.csv", "1")
    ran = ana("fs", "cat", lake.at("main/deep/flie.csv"))
    assert (ran.code, ran.raw) == (1, b"")
    assert ran.err.splitlines()[-1] == "hint:  Did you mean deep/file.csv?"
    ran = ana("fs", "stat", lake.at("main/other"))
    assert f"`anabranch fs ls {lake.at('main')}` lists the existing objects." in ran.err
    ran = ana("fs", "cat", lake.at("mian/deep/file.csv"))
    assert ran.err.splitlines()[-1] == "hint:  Did you mean main?"
    for words, message in [
        (["upload", "-s", folder, lake.at("main/x")], "is a folder"),
        (["upload", "-r", "-s", folder / "a.txt", lake.at("main/x")], "is not a folder"),
        (["upload", "-s", "-", lake.at("main/x/")], "has no name"),
        (["upload", "-s", "-", lake.at("main/x"), "--content-type", "multipart/form-data"], "type"),
        (["upload", "-s", "-", lake.at("main/x"), "--content-type", "a\nb"], "not a content type"),
        (["download", lake.at("main/deep/")], "is not the path of an object"),
        (["rm", lake.at("main")], "is not the address of an object"),
        (["rm", lake.at("main/deep/")], "is not the address of an object"),
    ]:
        ran = ana("fs", *words)
        assert ran.code == 2, words
        assert message in ran.err
    ran = ana("fs", "upload", "-s", folder / "missing", lake.at("main/x"))
    assert (ran.code, "No such file" in ran.err) == (1, True)
    ran = ana("fs", "upload", "-s", folder / "a.txt", lake.at("nobranch/x"))
    assert ran.code == 1


def test_a_reader_that_goes_away(lake):
    lake.put("main/big", bytes(4 << 20))
    command = [sys.executable, "-m", "anabranch.cli.main", "fs", "cat", lake.at("main/big")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert len(process.stdout.read(10)) == 10
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_grow_with_the_file(lake, tmp_path):
    size = sized(120, weekly=200) << 20
    big = tmp_path / "big"
    with big.open("wb") as out:
        out.truncate(size)
    # the peak of this process alone: getrusage would count that of the tests, who started it
    code = (
        "import sys; from anabranch.cli.main import main; code = main(sys.argv[1:]);"
        "status = open('/proc/self/status').read().partition('VmHWM:')[2];"
        "print(status.split()[0], file=sys.stderr); sys.exit(code)"
    )
    for words in (
        ["upload", "-s", str(big), lake.at("main/big")],
        ["download", lake.at("main/big"), str(tmp_path / "back")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, "fs", *words], capture_output=True, text=True, check=True
        )
        assert int(done.stderr) < 80 * 1024
    assert (tmp_path / "back").stat().st_size == size


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "a/\x00", ""])
def test_no_object_is_written_outside_the_folder(tmp_path, key):
    with pytest.raises(Failure, match="is not a valid path of a file"):
        local_path(tmp_path, key)


def test_paths_of_files(tmp_path):
    assert local_path(tmp_path, "a/..b/c") == tmp_path / "a" / "..b" / "c"


def test_the_identity_of_the_caller_is_shown(ana):
    found = ana.ok("identity", "--json").json
    assert found["id"]
    assert found["id"] in ana.ok("identity").out
