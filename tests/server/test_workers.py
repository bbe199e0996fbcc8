"""Threads and the limit on what waits for them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from anabranch.errors import Busy
from anabranch.server.workers import Workers


def test_beyond_the_limit_calls_are_refused_and_let_in_again_afterwards():
    release = threading.Event()

    async def scenario() -> None:
        workers = Workers("test", threads=2, waiting=1)
        calls = [asyncio.ensure_future(workers.run(release.wait, 10)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Busy):
            await workers.run(int)
        release.set()
        assert await asyncio.gather(*calls) == [True, True, True]
        assert await workers.run(int, "7") == 7
        workers.close()

    asyncio.run(scenario())


def test_what_a_call_raises_is_raised_and_frees_its_place():
    async def scenario() -> None:
        workers = Workers("test", threads=1, waiting=0)
        for _ in range(3):
            with pytest.raises(ValueError, match="tea"):
                await workers.run(int, "tea")
        workers.close()

    asyncio.run(scenario())
