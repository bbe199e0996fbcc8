"""The client of a server for asyncio.

    async with anabranch.aio.connect("https://lake.example.com") as lake:
        page = await lake.branches.list("sea", amount=100)

Its methods have the names, arguments and errors of those of `anabranch.connect`, and are awaited.
"""

from __future__ import annotations

from anabranch.remote.asynchronous.lake import AsyncLake, connect
from anabranch.remote.asynchronous.object import AsyncObject
from anabranch.remote.asynchronous.workspace import AsyncWorkspace

__all__ = ["AsyncLake", "AsyncObject", "AsyncWorkspace", "connect"]
