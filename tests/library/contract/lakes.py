"""The lakes that the contract is tested on, with one synchronous interface."""

from __future__ import annotations

import asyncio
import inspect
from threading import Thread

from anabranch import aio
from anabranch.lake.repository_handle import RepositoryHandle

PARTS = ("repositories", "branches", "tags", "commits", "refs", "objects", "workspaces")


class WaitingLake:
    """The lake for asyncio, each method of which is awaited in an event loop of a thread."""

    def __init__(self, *arguments, **options):
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.lake = aio.connect(*arguments, **options)
        for part in PARTS:
            setattr(self, part, WaitingPart(getattr(self.lake, part), self.wait))

    def wait(self, awaitable):
        async def awaited():
            return await awaitable

        return asyncio.run_coroutine_threadsafe(awaited(), self.loop).result(120)

    def repository(self, name):
        return RepositoryHandle(self, name)

    def snapshot(self, repository, reference):
        return self.wait(self.lake.snapshot(repository, reference))

    def close(self):
        self.wait(self.lake.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class WaitingPart:
    """A part of it."""

    def __init__(self, part, wait):
        self._part = part
        self._wait = wait

    def __getattr__(self, name):
        method = getattr(self._part, name)

        def call(*arguments, **options):
            made = method(*arguments, **options)
            if inspect.isasyncgen(made):
                return self._items(made)
            result = self._wait(made)
            return (
                WaitingObject(result, self._wait) if isinstance(result, aio.AsyncObject) else result
            )

        return call

    def _items(self, generator):
        while True:
            try:
                yield self._wait(anext(generator))
            except StopAsyncIteration:
                return


class WaitingObject:
    """An open object of it; what is no coroutine is the file's."""

    def __init__(self, opened, wait):
        self._opened = opened
        self._wait = wait

    def __getattr__(self, name):
        return getattr(self._opened.file, name)

    def read_bytes(self, *arguments):
        return self._wait(self._opened.read_bytes(*arguments))

    def chunks(self, *arguments):
        async def collect():
            return [chunk async for chunk in self._opened.chunks(*arguments)]

        return iter(self._wait(collect()))
