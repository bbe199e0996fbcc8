"""RocksDB's own tool verifies and dumps what we write."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from support.formats.sstable import read_table

from anabranch import _kernel


def sst_dump(path: Path, command: str) -> str:
    program = shutil.which("sst_dump")
    if program is None:
        pytest.skip("sst_dump is missing (Debian's rocksdb-tools): RocksDB cannot be asked")
    # it reads only files that are named as RocksDB names them
    named = path.with_suffix(".sst")
    shutil.copyfile(path, named)
    arguments = [f"--file={named}", f"--command={command}", "--output_hex", "--verify_checksum"]
    answer = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, cwd=path.parent
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Corruption" not in answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tree whose ranges have long and short records, one and two levels of index."""
    folder = tmp_path_factory.mktemp("tables")
    dice = random.Random(1)
    keys = sorted({dice.randbytes(dice.randrange(1, 9)).hex().encode() for _ in range(30_000)})
    keys.append(b"z" * 1024)
    records = ((key, (dice.randbytes(32), key * (len(key) % 5))) for key in keys)
    _kernel.write_tree(records, str(folder))
    _kernel.write_tree([(b"one", (b"i", b"d"))], str(folder))
    return folder


@pytest.mark.slow
def test_tables_are_verified_and_dumped(folder):
    tables = [path for path in folder.iterdir() if len(path.name) == 64]
    assert len(tables) >= 4
    for path in tables:
        table = read_table(path.read_bytes())
        sst_dump(path, "verify")
        lines = sst_dump(path, "scan").splitlines()
        dumped = [line.split(" => ") for line in lines if " => " in line]
        # '6B6579' seq:0, type:1 => 76616C7565
        assert [(key.split("'")[1], value) for key, value in dumped] == [
            (key.hex().upper(), value.hex().upper()) for key, value in table.records
        ]
        assert all("seq:0, type:1" in key for key, _ in dumped)


def test_a_corrupt_table_is_refused(folder):
    path = folder / "corrupt.sst"
    good = next(path for path in folder.iterdir() if len(path.name) == 64).read_bytes()
    path.write_bytes(good[:100] + bytes([good[100] ^ 1]) + good[101:])
    program = shutil.which("sst_dump") or pytest.skip("sst_dump is missing")
    answer = subprocess.run(
        [program, f"--file={path}", "--command=verify"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert "orrupt" in answer.stdout + answer.stderr
