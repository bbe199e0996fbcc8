"""Campaigns: many inputs for one target, within bounds of time and memory.

An input that fails is written to a file, which the error names with the words that repeat it.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from fuzz.mutation import Mutator
from fuzz.target import SEEDS, Target

__all__ = ["Figures", "run_for", "run_inputs", "try_input"]

MAX_SECONDS = 10.0
"""The time of the processor that one input may take: all take far less on a slow machine."""
MAX_GROWTH = 256 << 20
"""The memory, in bytes, that one input may add to the largest that the process has taken."""

_UNIT = 1 if sys.platform == "darwin" else 1024


class Figures(NamedTuple):
    """What a campaign did: inputs, seconds of the processor, and those of the slowest input."""

    inputs: int
    seconds: float
    slowest_seconds: float
    slowest: bytes


class TooSlow(BaseException):
    """An input takes too long. Not an Exception: readers turn those of libraries into their own."""


def run_inputs(target: Target, amount: int, seed: int) -> Figures:
    """Tries all seeds and some inputs made of them. Raises AssertionError, with the file of the
    input that fails.
    """
    return _run(target, seed, lambda inputs, _: inputs < amount)


def run_for(target: Target, seconds: float, seed: int) -> Figures:
    """Like `run_inputs`, for some seconds."""
    end = time.monotonic() + seconds
    return _run(target, seed, lambda _, now: now < end)


def try_input(target: Target, data: bytes, seed: int = 0) -> None:
    """Tries one input. Raises AssertionError, with the file that it is written to."""
    before = _peak()
    try:
        with _limited(MAX_SECONDS):
            target.check(data)
        grown = (_peak() - before) * _UNIT
        assert grown <= MAX_GROWTH, f"{grown >> 20} MiB of memory for {len(data)} bytes"
    except (Exception, TooSlow) as error:
        path = _write(target, data)
        raise AssertionError(
            f"{target.name}: {type(error).__name__}: {error}\n"
            f"The input is in {path}, the seed was {seed}. When the reader is mended, keep it: "
            f"mkdir -p {SEEDS / target.name} && cp {path} {SEEDS / target.name}/"
        ) from error


def _run(target: Target, seed: int, goes_on) -> Figures:
    seeds = target.all_seeds()
    mutator = Mutator(random.Random(seed), seeds, target.tokens, target.shape)
    for data in seeds:
        try_input(target, data, seed)
    inputs, slowest, slowest_data = 0, 0.0, b""
    began = time.process_time()
    while goes_on(inputs, time.monotonic()):
        data = mutator.input()
        start = time.process_time()
        try_input(target, data, seed)
        taken = time.process_time() - start
        if taken > slowest:
            slowest, slowest_data = taken, data
        inputs += 1
    return Figures(inputs, time.process_time() - began, slowest, slowest_data)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises TooSlow in the body after some time of the processor."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds} seconds")

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _write(target: Target, data: bytes) -> Path:
    folder = Path(os.environ.get("FUZZ_FOLDER") or tempfile.gettempdir(), "anabranch-fuzz")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.name}-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path
