"""What was acknowledged survives: processes are killed anywhere, and unsynced files are lost.

A killed process leaves its files to the system, which has them whole. So what a loss of power does
is done here by hand, to every file that the journals do not know to be synced.
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
def putting(
    root: Path, first: int, journal_bytes: int, threads: int = 8
) -> Iterator[subprocess.Popen[bytes]]:
    """Gives a process that puts; it is killed at the end."""
    arguments = [str(value) for value in (root, first, threads, journal_bytes)]
    program = [sys.executable, "-m", "support.faults.put_loop", *arguments]
    process = subprocess.Popen(program, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said_by(process: subprocess.Popen[bytes], puts: int) -> bytes:
    """Returns what a process says until it has acknowledged so many puts."""
    assert process.stdout is not None
    said = b""
    while said.count(b"\n") < puts:
        piece = os.read(process.stdout.fileno(), 1 << 16)
        assert piece, "the process has ended"
        said += piece
    return said


def killed_after(process: subprocess.Popen[bytes], puts: int, said: bytes = b"") -> list[int]:
    """Kills a process once it has acknowledged so many puts more than it has `said`; returns all
    that it has.
    """
    assert process.stdout is not None
    said += said_by(process, puts)
    process.kill()
    said += process.stdout.read()
    process.wait()
    return [int(line) for line in said.split(b"\n")[:-1]]


def missing(store: LocalBlocks, numbers: list[int]) -> list[int]:
    """Returns the numbers whose blocks are not what they were."""
    return [
        number
        for number in numbers
        if store.stat(address_of(number)) is None
        or store.read(address_of(number)) != body_of(number)
    ]


@pytest.mark.parametrize("journal_bytes", [1 << 24, 20_000])
def test_every_acknowledged_put_survives_a_loss_of_power(root, journal_bytes):
    chance = random.Random(journal_bytes)
    acknowledged: list[int] = []
    lost = 0
    for first in range(0, 40_000, 10_000):
        with putting(root, first, journal_bytes) as process:
            acknowledged += killed_after(process, chance.randrange(1, 300))
        lost += lose_power(root, chance)
    store = LocalBlocks(root)
    assert missing(store, acknowledged) == []
    assert journals(root) == []
    assert lost


def test_a_crash_while_blocks_are_brought_back_is_harmless(root):
    chance = random.Random(3)
    with putting(root, 0, 1 << 24) as process:
        acknowledged = killed_after(process, 200)
    saved = {journal: journal.read_bytes() for journal in journals(root)}
    for _ in range(3):
        lose_power(root, chance)
        assert missing(LocalBlocks(root), acknowledged) == []
        assert journals(root) == []
        for journal, data in saved.items():
            journal.write_bytes(data)  # as if it had not been removed yet
    LocalBlocks(root)
    assert journals(root) == []


def test_of_two_processes_the_journal_of_the_living_stays(root):
    with putting(root, 0, 1 << 24) as one, putting(root, 10_000, 1 << 24) as other:
        said = said_by(other, 1)
        first = killed_after(one, 100)
        before = set(journals(root))
        held = {journal for journal in before if is_held(journal)}
        assert held
        assert before - held
        lose_power(root, random.Random(1))
        store = LocalBlocks(root)
        assert held <= set(journals(root))
        assert not (before - held) & set(journals(root))
        assert missing(store, first) == []
        second = killed_after(other, 300, said)
    lose_power(root, random.Random(1))
    store = LocalBlocks(root)
    assert missing(store, second) == []
    assert journals(root) == []


def test_a_copy_of_the_folder_taken_meanwhile_is_whole(root, tmp_path):
    """What was acknowledged before the copying began is in the copy, and it needs no repair."""
    with putting(root, 0, 50_000) as process:
        numbers = [int(line) for line in said_by(process, 200).split(b"\n")[:-1]]
        copied = subprocess.run(
            ["cp", "-r", root, tmp_path / "copy"], check=False, stderr=subprocess.DEVNULL
        )
        process.kill()
    assert copied.returncode in {0, 1}  # 1: a file went while it was copied
    store = LocalBlocks(tmp_path / "copy")
    assert missing(store, numbers) == []
    assert journals(tmp_path / "copy") == []
