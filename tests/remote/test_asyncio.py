"""The lake for asyncio: many requests, cancellation, loops that are closed, streams."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from anabranch import aio
from anabranch.errors import Busy, Denied, NotFound


@pytest.fixture
def waiting(server):
    return aio.connect(server.url, *server.auth)


def request_threads():
    return [each for each in threading.enumerate() if each.name == "anabranch-request"]


@pytest.mark.slow
def test_a_thousand_reads_in_flight_use_a_bounded_number_of_threads(server, lake, sea):
    for number in range(10):
        lake.objects.upload(sea, "main", f"{number}", [b"%d" % number])
    before = len(request_threads())

    async def read(waiting, number):
        opened = await waiting.objects.open(sea, "main", f"{number % 10}")
        return await opened.read_bytes()

    async def run():
        async with aio.connect(server.url, *server.auth, max_requests=8) as waiting:
            found = await asyncio.gather(*(read(waiting, number) for number in range(1000)))
            assert len(request_threads()) - before <= 8
            return found

    assert asyncio.run(run()) == [b"%d" % (number % 10) for number in range(1000)]


def test_the_loop_runs_while_requests_wait():
    async def run():
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            waiting = aio.connect(url, "key", "secret", timeout=60, max_requests=1)
            first = asyncio.create_task(waiting.repositories.get("sea"))
            second = asyncio.create_task(waiting.repositories.get("sea"))
            await asyncio.to_thread(silent.accept)
            assert not first.done()
            first.cancel()
            second.cancel()
            results = await asyncio.gather(first, second, return_exceptions=True)
            assert [type(each) for each in results] == [asyncio.CancelledError] * 2
            await waiting.close()

    asyncio.run(run())


def test_requests_that_wait_for_a_thread_fail_when_the_lake_is_closed():
    async def run():
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            waiting = aio.connect(url, "key", "secret", timeout=60, max_requests=1)
            first = asyncio.create_task(waiting.repositories.get("sea"))
            second = asyncio.create_task(waiting.repositories.get("sea"))
            connection, _ = await asyncio.to_thread(silent.accept)
            await waiting.close()
            with pytest.raises(RuntimeError, match="closed"):
                await second
            with pytest.raises(RuntimeError, match="closed"):
                await waiting.repositories.get("sea")
            connection.close()
            with pytest.raises(Busy):
                await first

    asyncio.run(run())


def test_a_loop_that_is_closed_early_disturbs_nobody(sea, waiting, caplog):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        slow = aio.connect(url, "key", "secret", timeout=60)
        loop = asyncio.new_event_loop()

        async def begin():
            begun = asyncio.ensure_future(slow.repositories.get("sea"))
            connection, _ = await asyncio.to_thread(silent.accept)
            return begun, connection

        begun, connection = loop.run_until_complete(begin())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        connection.close()
        begun._log_destroy_pending = False

    async def get():
        return (await waiting.branches.get(sea, "main")).id

    assert [asyncio.run(get()) for _ in range(3)] == ["main"] * 3
    assert not caplog.records


def test_uploads_and_downloads_are_streams(sea, waiting):
    async def pieces():
        for number in range(50):
            await asyncio.sleep(0)
            yield bytes([number]) * 100_000

    async def run():
        made = await waiting.objects.upload(sea, "main", "a", pieces(), metadata={"k": "v"})
        assert (made.entry.size, made.entry.metadata) == (5_000_000, {"k": "v"})
        opened = await waiting.objects.open(sea, "main", "a")
        chunks = [chunk async for chunk in opened.chunks(50_000, 4_900_000)]
        assert len(chunks) > 3
        content = b"".join(chunks)
        assert content[:50_001] == bytes(50_000) + b"\1"
        assert len(content) == 4_900_000

    asyncio.run(run())


def test_an_upload_fails_with_its_source_or_its_task(sea, waiting):
    class Stop(Exception):
        pass

    began = asyncio.Event()

    async def failing():
        yield b"x"
        raise Stop

    async def endless():
        yield b"x"
        began.set()
        await asyncio.Event().wait()

    async def run():
        with pytest.raises(Stop):
            await waiting.objects.upload(sea, "main", "a", failing())
        task = asyncio.create_task(waiting.objects.upload(sea, "main", "a", endless()))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(NotFound):
            await waiting.objects.stat(sea, "main", "a")
        assert [page.items async for page in waiting.objects.pages(sea, "main")] == [[]]

    asyncio.run(run())


def test_a_workspace_is_a_block_that_reaches_its_paths_alone(server, lake, sea):
    lake.objects.upload(sea, "main", "months/05", [b"7"])
    lake.commits.commit(sea, "main", message="May")

    async def run():
        async with aio.connect(server.url, *server.auth) as waiting:
            async with waiting.workspace(sea, writable=["out/**"], expires="1h") as workspace:
                name = workspace.name
                assert workspace.keys.token
                await workspace.write("out/a", await workspace.read("months/05"))
                await workspace.checkpoint("copied")
                await workspace.write("out/a", "wrong")
                await workspace.write("out/b", "wrong")
                await workspace.remove("out/b")
                with pytest.raises(Denied):
                    await workspace.write("months/06", b"8")
                await workspace.restore("copied")
                assert [each.path async for each in workspace.changed()] == ["out/a"]
                assert await workspace.read("out/a") == b"7"
            with pytest.raises(NotFound):
                await waiting.branches.get(sea, name)

            async with waiting.workspace(sea, writable=["**"], purpose="Try") as workspace:
                await workspace.write("out/c", [b"proposed"])
                pull = await workspace.propose("Out")
            assert (await waiting.branches.get(sea, workspace.name)).id == workspace.name
            return pull

    assert asyncio.run(run())


def test_a_workspace_ends_also_if_its_block_fails(server, sea):
    async def run():
        async with aio.connect(server.url, *server.auth) as waiting:
            with pytest.raises(ZeroDivisionError):
                async with waiting.workspace(sea, writable=["**"], name="ws-fails"):
                    raise ZeroDivisionError
            with pytest.raises(NotFound):
                await waiting.branches.get(sea, "ws-fails")

    asyncio.run(run())
