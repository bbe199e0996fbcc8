"""Every reader of what others have written stands any bytes.

`FUZZ_SECONDS` is the time for each target in the slow tests, `FUZZ_SEED` repeats one of them.
"""

from __future__ import annotations

import os
import random
import secrets
from importlib import import_module
from pathlib import Path

import pytest
from fuzz import campaign
from fuzz.campaign import run_for, run_inputs
from fuzz.mutation import Mutator
from fuzz.shapes import JSON
from fuzz.target import SEEDS, Target
from support.session.sizes import sized

MODULES = (
    *("delta_tables", "documents", "http_messages", "iceberg_tables", "s3_bodies"),
    *("settings_files", "signatures", "stored_blocks", "tables", "texts", "uploads"),
)
TARGETS = [target for name in MODULES for target in import_module(f"fuzz.targets.{name}").TARGETS]

SEED = 40
SECONDS = float(os.environ.get("FUZZ_SECONDS") or 60)


def name_of(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", TARGETS, ids=name_of)
def test_some_inputs(target):
    run_inputs(target, target.inputs // sized(4, weekly=1), SEED)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("target", TARGETS, ids=name_of)
def test_many_inputs(target):
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbits(32))
    print(f"FUZZ_SEED={seed}")
    figures = run_for(target, SECONDS, seed)
    print(
        f"{target.name}: {figures.inputs:,} inputs in {figures.seconds:.0f} s of the processor, "
        f"the slowest in {figures.slowest_seconds * 1000:.0f} ms: {figures.slowest[:80]!r}"
    )


def test_every_kept_seed_has_a_target():
    assert {path.name for path in SEEDS.iterdir()} <= {target.name for target in TARGETS}


def test_a_seed_makes_the_same_inputs_again():
    made = []
    for _ in range(2):
        mutator = Mutator(random.Random(7), [b'{"a": [1, 2]}', b"x"], [b"a"], JSON)
        made.append([mutator.input() for _ in range(300)])
    assert made[0] == made[1]
    assert len(set(made[0])) > 100


def test_an_input_that_fails_is_written_and_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FUZZ_FOLDER", str(tmp_path))

    def check(data: bytes) -> None:
        assert data.count(b"a") < 3, "three of them"

    with pytest.raises(AssertionError, match="three of them") as caught:
        run_inputs(Target("planted", check, lambda: [b"ab"]), 10_000, 1)
    (path,) = Path(tmp_path).rglob("planted-*")
    assert str(path) in str(caught.value)
    assert path.read_bytes().count(b"a") >= 3


def test_an_input_that_takes_forever_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("FUZZ_FOLDER", str(tmp_path))
    monkeypatch.setattr(campaign, "MAX_SECONDS", 0.1)

    def check(_: bytes) -> None:
        while True:
            pass

    with pytest.raises(AssertionError, match=r"more than 0\.1 seconds"):
        run_inputs(Target("endless", check, lambda: [b"a"]), 1, 1)


def test_an_input_that_takes_all_memory_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("FUZZ_FOLDER", str(tmp_path))
    monkeypatch.setattr(campaign, "MAX_GROWTH", -1)  # a process may have taken much before
    with pytest.raises(AssertionError, match="MiB of memory"):
        run_inputs(Target("large", len, lambda: [b"a"]), 1, 1)
