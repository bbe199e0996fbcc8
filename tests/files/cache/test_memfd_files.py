"""Files in memory that exist for a grace period."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from anabranch.files.cache.memfd_files import MemfdFiles, is_full


def open_memfds():
    """Returns the names of such files that this process has open."""
    targets = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    return sorted(each for each in targets if each.startswith("/memfd:passing-"))


def add(files, name):
    return files.materialize(
        f"passing-{name}", lambda descriptor: os.write(descriptor, name.encode()), lambda _: None
    )


def test_file_exists_for_the_grace_period_and_while_it_is_open():
    files = MemfdFiles(grace_seconds=0.05)
    with Path(add(files, "a")).open("rb") as file:
        time.sleep(0.1)
        assert Path(add(files, "b")).read_bytes() == b"b"
        assert file.read() == b"a"
    assert [name.partition(" ")[0] for name in open_memfds()] == ["/memfd:passing-b"]


def test_a_failed_download_leaves_no_file():
    files = MemfdFiles(grace_seconds=60)
    before = open_memfds()

    def fail(_: object) -> None:
        raise ConnectionError

    for fill, check in ((fail, lambda _: None), (lambda _: None, fail)):
        with pytest.raises(ConnectionError):
            files.materialize("passing-c", fill, check)
    assert open_memfds() == before


def test_is_full_recognises_errors_of_a_full_disk():
    assert all(is_full(OSError(code, "")) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    assert not any(is_full(OSError(code, "")) for code in (errno.EACCES, errno.EIO, errno.ENOENT))
