"""Every reader of what others have written stands any bytes.

`FUZZ_SECONDS` is the time for each target in the slow tests, `FUZZ_SEED` repeats one of them.
"""

from __future__ import annotations

import os
import secrets
from importlib import import_module

import pytest
from fuzz.campaign import run_for, run_inputs
from fuzz.target import SEEDS, Target

MODULES = (
    *("documents", "http_messages", "s3_bodies", "signatures", "stored_blocks", "table_formats"),
    *("tables", "texts", "uploads"),
)
TARGETS = [target for name in MODULES for target in import_module(f"fuzz.targets.{name}").TARGETS]

INPUTS = 200
SEED = 40


def name_of(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", TARGETS, ids=name_of)
def test_some_inputs(target):
    run_inputs(target, INPUTS, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=name_of)
def test_many_inputs(target):
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbits(32))
    seconds = float(os.environ.get("FUZZ_SECONDS") or 60)
    print(f"FUZZ_SEED={seed}")
    figures = run_for(target, seconds, seed)
    print(
        f"{target.name}: {figures.inputs:,} inputs in {figures.seconds:.0f} s of the processor, "
        f"the slowest in {figures.slowest_seconds * 1000:.0f} ms"
    )


def test_every_kept_seed_has_a_target():
    names = {path.name for path in SEEDS.iterdir()} if SEEDS.is_dir() else set()
    assert names <= {target.name for target in TARGETS}
