"""Acknowledged blocks survive when processes are killed and unsynced files are lost.

The files of a killed process are complete in the page cache. Therefore the tests simulate a loss of
power: they damage every file that the journals do not record as synced.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.faults.power_loss import is_held, journals, lose_power
from support.faults.put_loop import address_of, body_of

from anabranch.blocks.local.store import LocalBlocks


@contextmanager
def running_puts(
    root: Path, first: int, journal_bytes: int, threads: int = 8
) -> Iterator[subprocess.Popen[bytes]]:
    """Yields a process that puts blocks; it is killed at the end."""
    arguments = [str(value) for value in (root, first, threads, journal_bytes)]
    program = [sys.executable, "-m", "support.faults.put_loop", *arguments]
    process = subprocess.Popen(program, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_acknowledgements(process: subprocess.Popen[bytes], puts: int) -> bytes:
    """Returns the output of a process once it has acknowledged `puts` blocks."""
    assert process.stdout is not None
    output = b""
    while output.count(b"\n") < puts:
        piece = os.read(process.stdout.fileno(), 1 << 16)
        assert piece, "the process has ended"
        output += piece
    return output


def kill_after(process: subprocess.Popen[bytes], puts: int, output: bytes = b"") -> list[int]:
    """Kills a process once it has acknowledged `puts` more blocks than in `output`; returns the
    numbers of all acknowledged blocks.
    """
    assert process.stdout is not None
    output += read_acknowledgements(process, puts)
    process.kill()
    output += process.stdout.read()
    process.wait()
    return [int(line) for line in output.split(b"\n")[:-1]]


def missing(store: LocalBlocks, numbers: list[int]) -> list[int]:
    """Returns the numbers of lost and changed blocks."""
    return [
        number
        for number in numbers
        if store.stat(address_of(number)) is None
        or store.read(address_of(number)) != body_of(number)
    ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("journal_bytes", [1 << 24, 20_000])
def test_every_acknowledged_put_survives_a_loss_of_power(root, journal_bytes):
    rng = random.Random(journal_bytes)
    acknowledged: list[int] = []
    lost = 0
    for first in range(0, 40_000, 10_000):
        with running_puts(root, first, journal_bytes) as process:
            acknowledged += kill_after(process, rng.randrange(1, 300))
        lost += lose_power(root, rng)
    store = LocalBlocks(root)
    assert missing(store, acknowledged) == []
    assert journals(root) == []
    assert lost


def test_a_crash_during_recovery_loses_no_block(root):
    rng = random.Random(3)
    with running_puts(root, 0, 1 << 24) as process:
        acknowledged = kill_after(process, 200)
    saved = {journal: journal.read_bytes() for journal in journals(root)}
    for _ in range(3):
        lose_power(root, rng)
        assert missing(LocalBlocks(root), acknowledged) == []
        assert journals(root) == []
        for journal, data in saved.items():
            journal.write_bytes(data)  # as if it had not been removed yet
    LocalBlocks(root)
    assert journals(root) == []


def test_recovery_ignores_the_journal_of_a_running_process(root):
    with running_puts(root, 0, 1 << 24) as one, running_puts(root, 10_000, 1 << 24) as other:
        output = read_acknowledgements(other, 1)
        first = kill_after(one, 100)
        before = set(journals(root))
        held = {journal for journal in before if is_held(journal)}
        assert held
        assert before - held
        lose_power(root, random.Random(1))
        store = LocalBlocks(root)
        assert held <= set(journals(root))
        assert not (before - held) & set(journals(root))
        assert missing(store, first) == []
        second = kill_after(other, 300, output)
    lose_power(root, random.Random(1))
    store = LocalBlocks(root)
    assert missing(store, second) == []
    assert journals(root) == []


def test_a_copy_of_the_folder_during_puts_has_all_acknowledged_blocks(root, tmp_path):
    """The copy has all blocks that were acknowledged before copying started."""
    with running_puts(root, 0, 50_000) as process:
        numbers = [int(line) for line in read_acknowledgements(process, 200).split(b"\n")[:-1]]
        copied = subprocess.run(
            ["cp", "-r", root, tmp_path / "copy"], check=False, stderr=subprocess.DEVNULL
        )
        process.kill()
    assert copied.returncode in {0, 1}  # 1: a file was removed while it was copied
    store = LocalBlocks(tmp_path / "copy")
    assert missing(store, numbers) == []
    assert journals(tmp_path / "copy") == []
