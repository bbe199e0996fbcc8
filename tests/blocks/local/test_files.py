"""Files of the local store are complete, durable and created once; failures leave no files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy

OLD = 10_000.0


def files(root: Path) -> list[str]:
    """Returns the paths of all files in the store."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


FILL = """
import resource, signal, sys
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy
blocks = LocalBlocks(sys.argv[1])
blocks.put("local://space/before", [b"b" * 1000])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for attempt in (
    lambda: blocks.put("local://space/a", [b"x" * 70_000] * 5),
    lambda: blocks.put("local://space/before", [b"x" * 70_000] * 5),
):
    try:
        attempt()
    except Busy as error:
        print(error.kind, error.message)
blocks.put("local://space/after", [b"x" * 90_000])
print("after")
"""


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB; skips the test without the permission to mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.xfail("no right to mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)


class TestFullDisk:
    def test_a_file_size_limit_raises_busy_and_leaves_no_file(self, root):
        done = subprocess.run(
            [sys.executable, "-c", FILL, root], check=True, capture_output=True, text=True
        )
        assert [line.split()[0] for line in done.stdout.splitlines()] == [
            "disk_full",
            "disk_full",
            "after",
        ]
        assert files(root) == ["space/after", "space/before"]
        assert (root / "space/before").read_bytes() == b"b" * 1000

    def test_a_full_disk_raises_busy_and_leaves_no_file(self, small_disk):
        blocks = LocalBlocks(small_disk / "blocks")
        blocks.put("local://space/source", [b"s" * 400_000])
        free = os.statvfs(small_disk).f_bavail
        for attempt in (
            lambda: blocks.put("local://space/a", [b"x" * 100_000] * 10),
            lambda: blocks.put("local://space/source", [b"x" * 100_000] * 10),
        ):
            with pytest.raises(Busy) as full:
                attempt()
            assert full.value.kind == "disk_full"
            assert os.statvfs(small_disk).f_bavail == free, "what was written is free again"
        blocks.copy("local://space/source", "local://space/copy")
        with pytest.raises(Busy) as full:
            blocks.copy("local://space/source", "local://space/again")
        assert full.value.kind == "disk_full"
        assert files(small_disk / "blocks") == ["space/copy", "space/source"]
        blocks.delete(["local://space/copy"])
        blocks.put("local://space/b", [b"x" * 100_000])
        assert blocks.read("local://space/source") == b"s" * 400_000


UPLOAD = """
import os, sys, time
if sys.argv[2] == "named":
    del os.O_TMPFILE
from anabranch.blocks.local.store import LocalBlocks
def endless():
    yield b"x" * 100_000
    print("half", flush=True)
    time.sleep(60)
LocalBlocks(sys.argv[1]).put("local://space/data/a", endless())
"""


class TestKilled:
    @pytest.mark.parametrize(("way", "remaining"), [("unnamed", 0), ("named", 1)])
    def test_cleaning_removes_all_files_of_a_killed_upload(self, root, way, remaining):
        writer = subprocess.Popen(
            [sys.executable, "-c", UPLOAD, root, way], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "half\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        blocks = LocalBlocks(root)
        assert list(blocks.list("local://")) == []
        assert len(files(root)) == remaining
        assert blocks.clean_temporaries(3_600) == 0
        assert blocks.clean_temporaries(-1) == remaining
        assert files(root) == []


class TestCleaning:
    def test_removes_old_temporary_files_and_no_block(self, local, root):
        local.put("local://deep/er/space/_lakefs/" + "a" * 64, [b"table"])
        local.put("local://other/data/a", [b"x"])
        tables = root / "deep/er/space/_lakefs"
        old = [root / TEMPORARY / "old", tables / f".{'b' * 64}.12.0.tmp"]
        new = [root / TEMPORARY / "new", tables / f".{'c' * 64}.12.1.tmp"]
        for path in old + new:
            path.write_bytes(b"x")
        looks_alike = root / f"other/data/.{'b' * 64}.12.0.tmp"
        looks_alike.write_bytes(b"x")
        old_time = time.time() - OLD
        for path in [*old, looks_alike, *tables.glob("a*"), root / "other/data/a"]:
            os.utime(path, (old_time, old_time))
        assert local.clean_temporaries(OLD / 2) == len(old)
        assert not any(path.exists() for path in old)
        assert all(path.exists() for path in [*new, looks_alike, tables / ("a" * 64)])
        assert local.read("local://other/data/a") == b"x"

    def test_does_not_disturb_an_upload(self, named_local):
        def slow():
            yield b"x"
            assert named_local.clean_temporaries(60) == 0
            yield b"y"

        named_local.put("local://space/a", slow())
        assert named_local.read("local://space/a") == b"xy"

    def test_makes_an_upload_fail_whose_file_it_removed(self, named_local):
        def slow():
            yield b"x"
            assert named_local.clean_temporaries(-1) == 1

        with pytest.raises(Busy):
            named_local.put("local://space/a", slow())
        assert named_local.stat("local://space/a") is None


SYNCS = """
import json, os, sys
calls = []
def record_calls(name):
    real = getattr(os, name)
    def call(*args, **kwargs):
        of = os.readlink(f"/proc/self/fd/{args[0]}") if isinstance(args[0], int) else args[0]
        if not of.startswith("/proc") and "/#" not in of:
            calls.append((name, of.removeprefix(sys.argv[1])))
        return real(*args, **kwargs)
    setattr(os, name, call)
for name in ("fsync", "fdatasync", "link", "rename", "mkdir"):
    record_calls(name)
from anabranch.blocks.local.store import LocalBlocks
blocks = LocalBlocks(sys.argv[1])
for key in ("a", "b"):
    calls.clear()
    blocks.put(f"local://space/data/{key}", [b"x"])
    print(json.dumps(calls))
"""


class TestDurability:
    def calls(self, root: Path) -> list[list[list[str]]]:
        done = subprocess.run(
            [sys.executable, "-c", SYNCS, root], check=True, capture_output=True, text=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_every_name_is_synced_before_it_is_acknowledged(self, root):
        first, second = self.calls(root)
        assert first[:4] == [
            ["mkdir", "/space"],
            ["fsync", ""],
            ["mkdir", "/space/data"],
            ["fsync", "/space"],
        ]
        assert first[4:][-1] == second[-1] == ["fsync", "/space/data"]
        assert not any(name == "mkdir" for name, _ in second), "folders are not looked at twice"

    def test_a_folder_created_by_another_process_is_synced(self, root):
        (root / "space/data").mkdir(parents=True)
        first, second = self.calls(root)
        assert [of for name, of in first if name == "fsync"] == ["", "/space", "/space/data"]
        assert [of for name, of in second if name == "fsync"] == ["/space/data"]


RACE = """
import sys
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AlreadyExists
blocks = LocalBlocks(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(100):
    try:
        blocks.put(f"local://space/{number % 7}/{number}", [sys.argv[2].encode()], if_absent=True)
    except AlreadyExists:
        continue
    print(number, flush=True)
"""


@pytest.mark.slow
def test_each_block_is_created_by_one_of_several_processes(root):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, root, str(racer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for racer in range(3)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    won = [racer.communicate()[0].split() for racer in racers]
    assert sorted(int(number) for numbers in won for number in numbers) == list(range(100))
    blocks = LocalBlocks(root)
    for racer, numbers in enumerate(won):
        for number in numbers:
            body = blocks.read(f"local://space/{int(number) % 7}/{number}")
            assert body == str(racer).encode()
