"""Acknowledged merges survive when processes are killed and unsynced tables are lost."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from support.faults.power_loss import lose_power, unsynced

import anabranch

LOOP = Path(__file__).parent / "merge_loop.py"


def killed_after(folder, life, merges, threads):
    """Returns the objects whose merges a process has acknowledged before it was killed."""
    command = [sys.executable, LOOP, folder, life, threads]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(merges)]
    finally:
        process.kill()
        lines += process.communicate()[0].splitlines(keepends=True)
    assert len(lines) >= merges
    return {line.strip() for line in lines if line.endswith("\n")}


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.sample(1)
def test_every_acknowledged_merge_survives_a_loss_of_power(tmp_path, threads):
    chance = random.Random(threads)
    with anabranch.open(tmp_path, committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
    root = tmp_path / "block"
    merged = set()
    tables = lost = 0
    for life in range(2):
        merged |= killed_after(tmp_path, life, chance.randrange(5, 30), threads)
        tables += sum("/_lakefs/" in path for path in unsynced(root))
        lost += lose_power(root, chance)
        with anabranch.open(tmp_path, committer="ada") as lake:
            sea = lake.repository("sea")
            for name in merged:
                assert sea.ref("main").read(f"out/{name}") == name.encode()
            for commit in lake.core.commits.all(lake.core.repositories.get("sea")):
                assert all(sea.ref(commit.id).objects())  # all tables can be read
    assert tables
    assert lost
