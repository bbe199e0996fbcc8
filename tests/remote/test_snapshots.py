"""Snapshots of a server: their cache, damage, processes, and responses that break off."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from support.faults.scripted_socket import ScriptedSocket, answer
from support.session.forked_python import forked_python
from support.session.sizes import sized

import anabranch
from anabranch.client.retry_policy import RetryPolicy
from anabranch.errors import Busy, Corrupt, Gone, Invalid
from anabranch.lake.snapshots.source import NamedEntry
from anabranch.model.objects.batch import FRAME_HEADER, FrameState
from anabranch.model.objects.entry import Entry
from anabranch.remote.call import change
from anabranch.remote.snapshots.batches import LARGE, batches, read_batch
from anabranch.testing.server import running_server

PATHS = [f"{number:03}" for number in range(300)]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def connect(server, cache):
    opened = []

    def start(folder=cache, **options):
        opened.append(anabranch.connect(server.url, *server.auth, cache_folder=folder, **options))
        return opened[-1]

    yield start
    for lake in opened:
        lake.close()


@pytest.fixture
def filled(lake, sea):
    """A repository with objects whose content is their path."""
    for path in PATHS:
        lake.objects.upload(sea, "main", path, [path.encode()])
    lake.commits.commit(sea, "main", message="objects")
    return sea


def tables(cache):
    return sorted(path for path in cache.iterdir() if len(path.name) == 64)


def run(program, *arguments):
    """Runs a program in an interpreter of its own, and returns what it prints."""
    command = [forked_python(), "-c", program, *arguments]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


class TestCache:
    def test_tables_are_downloaded_once(self, connect, cache, filled):
        first = connect().snapshot(filled, "main")
        assert [*first.paths()] == PATHS
        downloaded = {path.name: path.stat().st_ino for path in tables(cache)}
        assert len(downloaded) == 2
        again = connect().snapshot(filled, "main")
        assert [*again.paths()] == PATHS
        assert {path.name: path.stat().st_ino for path in tables(cache)} == downloaded
        assert cache.stat().st_mode & 0o777 == 0o700

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "other"])
    def test_a_damaged_table_is_fetched_again(self, connect, cache, filled, damage):
        # in other processes: this one has the tables open
        lake = connect()
        lake.snapshot(filled, "main").exists("000")
        names = [path.name for path in tables(cache)]
        program = (
            "import pickle, sys; lake, name = pickle.load(open(sys.argv[1], 'rb'))\n"
            "snapshot = lake.snapshot(name, 'main')\n"
            "print(len([*snapshot.paths()]), sum(map(snapshot.exists, snapshot.paths())))"
        )
        given = cache.parent / "given"
        given.write_bytes(pickle.dumps((lake, filled)))
        for name in names:
            path = cache / name
            content = path.read_bytes()
            chance = random.Random(name)
            # the others do the same each time
            for _ in range(sized(1, weekly=3) if damage in {"flip", "truncate"} else 1):
                changed = bytearray(content)
                if damage == "flip":
                    changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
                elif damage == "other":
                    changed = bytearray((cache / names[names[0] == name]).read_bytes())
                else:
                    del changed[chance.randrange(len(content)) if damage == "truncate" else 0 :]
                path.write_bytes(changed)
                assert run(program, str(given)).split() == ["300", "300"]

    @pytest.mark.slow
    def test_files_that_disappear_are_fetched_again(self, connect, cache, filled):
        lake = connect()
        snapshot = lake.snapshot(filled, "main")
        assert "000" in snapshot
        shutil.rmtree(cache)
        assert "001" in snapshot, "they are open"
        copy = pickle.loads(pickle.dumps(snapshot))  # noqa: S301  made here
        assert [*copy.paths()] == PATHS

    @pytest.mark.slow
    def test_a_folder_that_cannot_be_written_does_not_matter(self, connect, tmp_path, filled):
        place = tmp_path / "file"
        place.write_bytes(b"")
        snapshot = connect(place / "cache").snapshot(filled, "main")
        assert [*snapshot.paths()] == PATHS
        assert place.read_bytes() == b""

    @pytest.mark.slow
    def test_a_full_disk_does_not_matter(self, connect, cache, filled):
        cache.mkdir(mode=0o700)
        mount = f'mount -t tmpfs -o size=4k,mode=700 none {cache} && exec "$@"'
        private = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        if subprocess.run([*private, "true"], check=False, capture_output=True).returncode:
            pytest.skip("no user namespaces on this system")
        program = (
            "import pickle, sys; lake, name = pickle.load(sys.stdin.buffer)\n"
            "print(len([*lake.snapshot(name, 'main').paths()]))"
        )
        ran = subprocess.run(
            [*private, sys.executable, "-c", program],
            input=pickle.dumps((connect(), filled)),
            check=False,
            capture_output=True,
            timeout=200,
        )
        assert ran.stdout == b"300\n", ran.stderr

    def test_a_folder_that_others_can_write_to_is_refused(self, connect, cache, filled):
        cache.mkdir()
        for mode in (0o777, 0o770, 0o1777):
            cache.chmod(mode)
            with pytest.raises(Invalid) as refused:
                connect().snapshot(filled, "main")
            assert refused.value.kind == "cache_not_private"
        cache.chmod(0o755)
        assert "000" in connect().snapshot(filled, "main")

    def test_a_small_cache_evicts_what_is_not_open(self, connect, lake, sea):
        contents = {}
        small = connect(cache_bytes=1)
        snapshots = []
        for number in range(5):
            contents[f"{number}"] = b"%d" % number
            lake.objects.upload(sea, "main", f"{number}", [contents[f"{number}"]])
            lake.commits.commit(sea, "main", message="one more")
            snapshots.append(small.snapshot(sea, "main"))
        for number, snapshot in enumerate(snapshots):
            assert [*snapshot.paths()] == [*contents][: number + 1]
            assert [*snapshot.read_many(snapshot.paths())] == [*contents.values()][: number + 1]


class TestProcesses:
    @pytest.mark.slow
    def test_processes_share_a_cache(self, connect, cache, filled):
        program = (
            "import pickle, sys; lake, name = pickle.load(open(sys.argv[1], 'rb'))\n"
            "snapshot = lake.snapshot(name, 'main')\n"
            "print(sum(len(each) for each in snapshot.read_many(snapshot.paths())))"
        )
        given = cache.parent / "given"
        given.write_bytes(pickle.dumps((connect(), filled)))
        started = [
            subprocess.Popen([forked_python(), "-c", program, given], stdout=subprocess.PIPE)
            for _ in range(4)
        ]
        assert [each.communicate(timeout=200)[0] for each in started] == [b"900\n"] * 4
        assert len(tables(cache)) == 2

    @pytest.mark.slow
    def test_forked_processes_read_from_a_snapshot(self, connect, filled):
        snapshot = connect().snapshot(filled, "main")
        assert snapshot.read("000") == b"000"
        children = []
        for number in range(4):
            child = os.fork()
            if not child:
                mine = PATHS[number::4]
                status = [*snapshot.read_many(mine)] == [path.encode() for path in mine]
                os._exit(0 if status and snapshot.read(mine[0]) == mine[0].encode() else 1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        assert snapshot.read("000") == b"000"

    def test_a_pickled_snapshot_reads_the_same_commit(self, connect, lake, filled):
        snapshot = connect().snapshot(filled, "main")
        lake.objects.upload(filled, "main", "000", [b"other"])
        lake.commits.commit(filled, "main", message="moved")
        copy = pickle.loads(pickle.dumps(snapshot))  # noqa: S301  made here
        assert (copy.commit_id, copy.read("000")) == (snapshot.commit_id, b"000")


class TestCollected:
    @pytest.fixture
    def own(self, tmp_path):
        data = tmp_path / "data"
        with (
            running_server(data) as server,
            anabranch.connect(server.url, *server.auth, cache_folder=tmp_path / "cache") as lake,
        ):
            lake.repositories.create("sea")
            for path in ("a", "b"):
                lake.objects.upload("sea", "main", path, [path.encode()])
            lake.commits.commit("sea", "main", message="objects")
            yield lake, data

    def stored(self, data, kind):
        found = [path for path in data.glob("block/data/sea/**/*") if path.is_file()]
        return [path for path in found if ("_lakefs" in path.parts) == (kind == "tables")]

    @pytest.mark.slow
    def test_a_commit_whose_tables_are_gone(self, own):
        lake, data = own
        pinned = lake.snapshot("sea", "main")
        assert "a" in pinned
        lake.objects.upload("sea", "main", "c", [b"c"])
        lake.commits.commit("sea", "main", message="more")
        begun = lake.snapshot("sea", "main")
        for path in self.stored(data, "tables"):
            path.unlink()
        assert [*pinned.paths()] == ["a", "b"], "its tables are here"
        assert len(begun) == 3
        for read in (
            lambda: pinned.read("a"),
            lambda: begun.stat("c"),
            lambda: [*begun.paths()],
            lambda: lake.snapshot("sea", "main~").read("a"),
        ):
            with pytest.raises(Gone) as gone:
                read()
            assert gone.value.kind == "metadata_missing"

    def test_bytes_that_are_lost(self, own):
        lake, data = own
        snapshot = lake.snapshot("sea", "main")
        for path in self.stored(data, "objects"):
            path.unlink()
        with pytest.raises(Gone):
            snapshot.read("a")
        reading = snapshot.read_many(["a", "b"])
        with pytest.raises(Gone):
            next(reading)

    @pytest.mark.slow
    def test_lost_objects_have_frames_of_their_length(self, own):
        """Small and large ones, beside others that are there."""
        lake, data = own
        main = lake.repository("sea").branch("main")
        contents = {path: os.urandom(size) for path, size in [("small", 9), ("large", 3 << 20)]}
        for path, content in contents.items():
            main.write(path, content)
        request = change(
            *("POST", ["repositories", "sea", "refs", "main", "objects", "contents"]),
            {"paths": ["small", "a", "nothing", "large", "small"]},
        )

        def frames():
            with lake._client.exchange(request) as response:
                body, found = response.read(), []
            while body:
                state, length = FRAME_HEADER.unpack_from(body)
                body = body[FRAME_HEADER.size :]
                found.append((state, body[:length]))
                body = body[length:]
            return found

        small, large = ((FrameState.CONTENT, contents[path]) for path in ("small", "large"))
        nothing = (FrameState.NOT_FOUND, b"")
        assert frames() == [small, (FrameState.CONTENT, b"a"), nothing, large, small]
        sizes = {len(content) for content in contents.values()}
        for path in self.stored(data, "objects"):
            if path.stat().st_size in sizes:
                path.unlink()
        lost = [(FrameState.LOST, bytes(len(contents[path]))) for path in ("small", "large")]
        assert frames() == [lost[0], (FrameState.CONTENT, b"a"), nothing, lost[1], lost[0]]


class TestBrokenResponses:
    """Reads of many objects, by scripted responses."""

    @pytest.fixture
    def script(self, monkeypatch):
        monkeypatch.setenv("no_proxy", "*")
        opened = []

        def start(*answers):
            server = ScriptedSocket(answers)
            lake = anabranch.connect(server.url, "key", "secret")
            lake._client._retries = RetryPolicy(2)
            lake._client._sleep = lambda _: None
            opened.append((server, lake))
            return server, lake._client

        yield start
        for server, lake in opened:
            lake.close()
            server.close()

    def frame(self, content, state=FrameState.CONTENT):
        return FRAME_HEADER.pack(state, len(content)) + content

    def named(self, *contents):
        return [
            NamedEntry(content.decode(), Entry(address="", size=len(content), mtime=0, checksum=""))
            for content in contents
        ]

    @pytest.mark.parametrize("cut", range(0, 33, 4))
    def test_a_response_that_breaks_off_is_continued(self, script, cut):
        whole = self.frame(b"one") + self.frame(b"two") + self.frame(b"six")
        done = cut // 12
        rest = b"".join(self.frame(each) for each in (b"one", b"two", b"six")[done:])
        server, client = script(
            answer("200 OK", whole[:cut], length=len(whole)), answer("200 OK", rest)
        )
        found = [*read_batch(client, "sea", "c", self.named(b"one", b"two", b"six"))]
        assert found == [b"one", b"two", b"six"]
        asked = [msgspec.json.decode(each.split(b"\r\n\r\n", 1)[1]) for each in server.requests]
        assert asked[1] == {"paths": ["one", "two", "six"][done:]}

    def test_a_server_that_always_breaks_off_is_busy(self, script):
        _, client = script(*[answer("200 OK", b"\0", length=50)] * 5)
        with pytest.raises(Busy):
            [*read_batch(client, "sea", "c", self.named(b"one"))]

    @pytest.mark.parametrize("body", [b"", b"\0" * 5, FRAME_HEADER.pack(0, 1 << 60), b"{}"])
    def test_what_is_no_answer_is_refused(self, script, body):
        _, client = script(answer("200 OK", body))
        with pytest.raises(Invalid):
            [*read_batch(client, "sea", "c", self.named(b"one"))]

    def test_an_object_of_another_size_is_not_the_object(self, script):
        for frame in (self.frame(b"on"), self.frame(b"one", FrameState.LOST), self.frame(b"", 9)):
            _, client = script(answer("200 OK", frame))
            with pytest.raises(Gone):
                [*read_batch(client, "sea", "c", self.named(b"one"))]


def test_batches_have_all_objects_in_order():
    chance = random.Random(3)
    for _ in range(sized(10, weekly=50)):
        sizes = [chance.choice([0, 1, 512, 100_000, LARGE - 1, LARGE, 20 << 20]) for _ in range(90)]
        sizes += [0] * chance.choice([0, 3000])
        objects = [
            NamedEntry(str(number), Entry(address="", size=size, mtime=0, checksum=""))
            for number, size in enumerate(sizes)
        ]
        groups = [*batches(objects)]
        assert [each for group in groups for each in group] == objects
        for group in groups:
            total = sum(each.entry.size for each in group)
            assert len(group) == 1 or (total <= 16 << 20 and len(group) <= 1000)


@pytest.mark.slow
def test_a_table_of_another_content_is_corrupt(connect, filled):
    """A server that answers with another table than that of the id."""
    snapshot = connect().snapshot(filled, "main")
    source = snapshot._source
    other = next(iter(Path(source._cache.folder).glob("?" * 64)))

    def download(_):
        return [other.read_bytes()]

    with pytest.raises(Corrupt):
        source._files.locate("0" * 64, download)
    assert not list(Path(source._cache.folder).glob("0" * 64 + "*"))
