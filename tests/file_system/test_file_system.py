"""The file system: what is pinned, transactions, errors, copies, other processes."""

from __future__ import annotations

import asyncio
import errno
import multiprocessing
import os
import pickle
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from support.session.sizes import sized

from anabranch.errors import DirtyBranch
from anabranch.fsspec import AnabranchFileSystem, register_lakefs
from anabranch.testing.server import running_server


def commit(fs, repository, **files):
    for name, content in files.items():
        fs.pipe_file(f"{repository}/main/{name}", content)
    return fs.lake.commits.commit(repository, "main", message="files").id


def fail(_):
    raise RuntimeError


def fail_while_writing(fs, path, mode, content):
    with pytest.raises(RuntimeError), fs.open(path, mode) as file:
        fail(file.write(content))


class TestReferences:
    def test_commits_and_tags_stay_and_branches_move(self, fs, sea):
        first = commit(fs, sea, a=b"old")
        fs.lake.tags.create(sea, "v1", "main")
        places = [f"{sea}/{name}/a" for name in ("main", first, "v1")]
        assert [fs.cat_file(place) for place in places] == [b"old"] * 3
        fs.pipe_file(f"{sea}/main/a", b"newer")
        fs.pipe_file(f"{sea}/main/b", b"")
        assert [fs.cat_file(place) for place in places] == [b"newer", b"old", b"old"]
        assert [fs.size(place) for place in places] == [5, 3, 3]
        assert [len(fs.find(f"{sea}/{name}")) for name in ("main", "v1")] == [2, 1]
        assert fs.snapshot(places[0]).commit_id == first

    def test_a_pinned_branch_stays_until_the_cache_is_invalidated(self, fs, sea):
        commit(fs, sea, a=b"old")
        pinned = AnabranchFileSystem(**fs.storage_options, pin=True)
        assert pinned.cat_file(f"{sea}/main/a") == b"old"
        commit(fs, sea, a=b"new", b=b"")
        assert pinned.cat_file(f"{sea}/main/a") == b"old"
        assert not pinned.exists(f"{sea}/main/b")
        pinned.invalidate_cache()
        assert pinned.cat_file(f"{sea}/main/a") == b"new"

    def test_a_commit_is_listed_and_looked_up_without_its_server(self, tmp_path):
        with running_server(tmp_path / "data") as server:
            cache = tmp_path / "cache"
            fs = AnabranchFileSystem(server=server.url, **pair(server), cache_folder=cache)
            fs.lake.repositories.create("sea")
            for number in range(50):
                fs.pipe_file(f"sea/main/{number % 5}/{number}", b"1")
            place = f"sea/{fs.lake.commits.commit('sea', 'main', message='m').id}"
            assert fs.exists(f"{place}/0/0")
        assert len(fs.find(place)) == 50
        assert len(fs.ls(f"{place}/3")) == 10
        assert len(fs.glob(f"{place}/*/4*")) == 11
        assert fs.info(f"{place}/3/3")["size"] == 1
        assert not fs.exists(f"{place}/3/4")

    def test_the_levels_above_references_are_folders(self, fs, sea):
        commit(fs, sea, a=b"1")
        fs.lake.tags.create(sea, "v1", "main")
        assert sea in fs.ls("", detail=False)
        assert fs.ls(f"anabranch://{sea}", detail=False) == [f"{sea}/main", f"{sea}/v1"]
        for path in ("", sea, f"{sea}/main", f"anabranch://{sea}/v1/", f"lakefs://{sea}/main"):
            assert fs.isdir(path), path
        for path in ("no-such", f"{sea}/nothing", f"{sea}/nothing/a", f"{sea}/main/nothing"):
            assert not fs.exists(path)
            with pytest.raises(FileNotFoundError):
                fs.info(path)
            with pytest.raises(FileNotFoundError):
                fs.ls(path)

    def test_commits_and_tags_cannot_be_written(self, fs, sea):
        head = commit(fs, sea, a=b"1")
        fs.lake.tags.create(sea, "v1", "main")
        for name in (head, "v1"):
            for change in (
                lambda place: fs.pipe_file(place, b"2"),
                fs.rm,
                fs.touch,
                lambda place: fs.copy(f"{sea}/main/a", place),
            ):
                with pytest.raises(OSError, match="cannot be changed") as refused:
                    change(f"{sea}/{name}/a")
                assert refused.value.errno == errno.EROFS


def pair(server):
    return dict(zip(("access_key_id", "secret_access_key"), server.auth, strict=True))


class TestWrites:
    def test_a_file_whose_block_fails_is_not_stored(self, fs, sea):
        for mode in ("w", "wb"):
            content = "1" if mode == "w" else b"1"
            fail_while_writing(fs, f"{sea}/main/a", mode, content)
            assert not fs.exists(f"{sea}/main/a")
            with fs.open(f"{sea}/main/a", mode) as file:
                file.write(content)
            assert fs.cat_file(f"{sea}/main/a") == b"1"
            fs.rm(f"{sea}/main/a")
        with fs.open(f"{sea}/main/t", "w", encoding="latin-1", newline="\r\n") as file:
            file.write("é\n")
        assert fs.cat_file(f"{sea}/main/t") == b"\xe9\r\n"

    def test_other_modes_are_refused(self, fs, sea):
        for mode in ("ab", "r+b", "w+b"):
            with pytest.raises(ValueError, match="mode"):
                fs.open(f"{sea}/main/a", mode)
        for mode in ("wb", "rb"):
            with pytest.raises(IsADirectoryError):
                fs.open(f"{sea}/main/", mode)
        for path in (f"{sea}/main/a", f"{sea}/no/a", "no-such/main/a"):
            with pytest.raises(OSError, match="No such file"):
                fs.open(path, "rb").read()

    def test_removals_and_moves(self, fs, sea):
        commit(fs, sea, **{"d/a": b"1", "d/e/b": b"2", "c": b"3"})
        with pytest.raises(IsADirectoryError):
            fs.rm(f"{sea}/main/d")
        with pytest.raises(OSError, match="not empty"):
            fs.rmdir(f"{sea}/main/d")
        with pytest.raises(FileNotFoundError):
            fs.rm_file(f"{sea}/main/nothing")
        fs.mv(f"{sea}/main/d", f"{sea}/main/f", recursive=True)
        assert fs.find(f"{sea}/main") == [f"{sea}/main/{name}" for name in ("c", "f/a", "f/e/b")]
        fs.rm(f"{sea}/main", recursive=True)
        assert fs.find(f"{sea}/main") == fs.ls(f"{sea}/main") == []
        assert fs.exists(f"{sea}/main")

    def test_copies_between_repositories(self, fs, sea):
        head = commit(fs, sea, a=b"1")
        fs.lake.repositories.create(f"{sea}-2")
        fs.copy(f"{sea}/{head}/a", f"{sea}-2/main/b")
        assert fs.cat_file(f"{sea}-2/main/b") == b"1"


class TestTransactions:
    def test_a_branch_gets_the_files_as_one_commit(self, fs, sea):
        with fs.transaction as transaction:
            transaction.message = "Both"
            fs.pipe_file(f"{sea}/main/a", b"1")
            with fs.open(f"{sea}/main/b", "w") as file:
                file.write("2" * 3_000_000)
            assert not fs.exists(f"{sea}/main/a")
        log = [each.message for each in fs.lake.repository(sea).branch("main").log()]
        assert log[0] == "Both"
        assert len(log) == 2
        assert (fs.cat_file(f"{sea}/main/a"), fs.size(f"{sea}/main/b")) == (b"1", 3_000_000)
        assert not [*fs.lake.repository(sea).branch("main").changes()]
        fs.pipe_file(f"{sea}/main/c", b"3")
        assert fs.exists(f"{sea}/main/c")

    def test_after_an_exception_none_is_stored(self, fs, sea):
        with pytest.raises(RuntimeError), fs.transaction:
            fail(fs.pipe_file(f"{sea}/main/a", b"1"))
        assert fs.find(f"{sea}/main") == []
        with fs.transaction:
            fail_while_writing(fs, f"{sea}/main/b", "w", "half")
            fs.pipe_file(f"{sea}/main/c", b"3")
        assert fs.find(f"{sea}/main") == [f"{sea}/main/c"]

    def test_each_branch_gets_its_own(self, fs, sea):
        fs.lake.branches.create(sea, "dev", "main")
        with fs.transaction:
            fs.pipe_file(f"{sea}/main/a", b"1")
            fs.pipe_file(f"{sea}/dev/b", b"2")
        assert fs.find(f"{sea}/main@") == [f"{sea}/main@/a"]
        assert fs.find(f"{sea}/dev@") == [f"{sea}/dev@/b"]

    def test_conflicts_and_uncommitted_changes_are_refused(self, fs, sea):
        fs.pipe_file(f"{sea}/main/a", b"1")
        with pytest.raises(DirtyBranch), fs.transaction:
            fs.pipe_file(f"{sea}/main/b", b"2")
        assert not fs.exists(f"{sea}/main/b")
        fs.lake.commits.commit(sea, "main", message="a")
        with pytest.raises(FileExistsError), fs.transaction, fs.open(f"{sea}/main/a", "xb"):
            pass


class TestManyFiles:
    @pytest.mark.slow
    def test_thousands_of_files_at_once(self, fs, sea):
        names = [f"{number:04}" for number in range(sized(1100, weekly=2500))]
        with fs.transaction:
            for name in names:
                fs.pipe_file(f"{sea}/main/{name}", name.encode() * 100)
        head = fs.lake.commits.get(sea, "main").id
        for name in (head, "main"):
            paths = [f"{sea}/{name}/{each}" for each in names]
            assert [*fs.cat(paths).values()] == [each.encode() * 100 for each in names]
            found = fs.cat_ranges(paths, 4, 8)
            assert found == [each.encode() for each in names]

    def test_errors_are_raised_returned_or_left_out(self, fs, sea):
        head = commit(fs, sea, a=b"1", b=b"2")
        for name in (head, "main"):
            good = f"{sea}/{name}/a"
            missing = [f"{sea}/{name}/nothing", f"{sea}/nothing/a", "no-such/main/a"]
            paths = [missing[0], good, *missing[1:]]
            ranges = fs.cat_ranges(paths, 0, 1)
            assert ranges[1] == b"1"
            assert all(isinstance(ranges[each], FileNotFoundError) for each in (0, 2, 3))
            with pytest.raises(FileNotFoundError):
                fs.cat_ranges(paths, 0, 1, on_error="raise")
            with pytest.raises(FileNotFoundError):
                fs.cat(paths)
            for each in missing:
                with pytest.raises(FileNotFoundError):
                    fs.cat(each, recursive=True)
            assert fs.cat([good, *missing], recursive=True) == {good: b"1"}
        with pytest.raises(ValueError, match="lengths"):
            fs.cat_ranges([good], [0, 1], [1])
        with pytest.raises(TypeError):
            fs.cat_ranges(good, 0, 1)
        assert fs.cat_ranges([], [], []) == []

    @pytest.mark.slow
    def test_a_branch_is_read_by_few_requests(self, file_systems, monkeypatch):
        fs = file_systems["server"]
        fs.lake.repositories.create("few-requests")
        with fs.transaction:
            for number in range(1010):
                fs.pipe_file(f"few-requests/main/{number:04}", b"%d" % number)
        fs.pipe_file("few-requests/main/0007", b"changed")
        sent = []
        exchange = fs.lake._client.exchange
        monkeypatch.setattr(
            fs.lake._client, "exchange", lambda request: sent.append(request) or exchange(request)
        )
        contents = fs.cat("few-requests/main/", recursive=True)
        reads = [request for request in sent if request.segments[-1] == "contents"]
        assert len(reads) == 2
        assert len(sent) < 20, "no request for each file"
        assert len(contents) == 1010
        assert contents["few-requests/main/0007"] == b"changed"

    def test_large_files_are_read_in_parts(self, fs, sea):
        content = os.urandom(3 << 20)
        head = commit(fs, sea, large=content, small=b"12345")
        for name in (head, "main"):
            large, small = f"{sea}/{name}/large", f"{sea}/{name}/small"
            paths = [large, small, large, large]
            found = fs.cat_ranges(paths, [0, 1, 1 << 20, -5], [9, 3, None, None])
            assert found == [content[:9], b"23", content[1 << 20 :], content[-5:]]

    def test_asyncio(self, fs, sea):
        head = commit(fs, sea, a=b"1", b=b"2")
        waiting = AsyncFileSystemWrapper(fs, asynchronous=True)
        paths = [f"{sea}/{head}/a", f"{sea}/{head}/b"]

        async def read():
            assert await waiting._cat_ranges(paths, 0, 1) == [b"1", b"2"]
            assert sorted(await waiting._find(f"{sea}/{head}")) == paths
            return await waiting._cat(paths)

        assert asyncio.run(read()) == dict(zip(paths, [b"1", b"2"], strict=True))


class TestProcesses:
    @pytest.fixture
    def many(self, fs, sea):
        """The paths of files at a commit, which the file system has read from."""
        names = [f"{number:03}" for number in range(60)]
        for name in names:
            fs.pipe_file(f"{sea}/main/{name}", name.encode())
        head = fs.lake.commits.commit(sea, "main", message="files").id
        assert fs.cat_file(f"{sea}/{head}/000") == b"000"
        return {f"{sea}/{head}/{name}": name.encode() for name in names}

    @pytest.mark.sample(1)
    def test_forked_workers_read_from_what_they_inherit(self, fs, many, monkeypatch):
        """As those of a data loader do."""
        monkeypatch.setitem(inherited, "fs", fs)
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map(read_inherited, many, chunksize=5) == [*many.values()]
        assert fs.cat([*many]) == many

    @pytest.mark.slow
    def test_spawned_workers_read_by_a_copy(self, fs, many):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            assert pool.map(fs.cat_file, many, chunksize=20) == [*many.values()]

    def test_a_copy_has_the_same_files(self, fs, sea):
        commit(fs, sea, a=b"1")
        copy = pickle.loads(pickle.dumps(fs))  # noqa: S301  made here
        assert copy.cat_file(f"{sea}/main/a") == b"1"


inherited = {}


def read_inherited(path):
    return inherited["fs"].cat_file(path)


class TestRegistration:
    def test_the_entry_point_is_the_file_system(self):
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
        declared = project["project"]["entry-points"]["fsspec.specs"]
        module, name = declared["anabranch"].split(":")
        assert getattr(import_module(module), name) is AnabranchFileSystem
        assert declared.keys() == {"anabranch"}, "lakefs:// is chosen by the user"

    def test_what_fsspec_makes_of_the_entry_point_is_the_file_system(self):
        name = "anabranch.fsspec.AnabranchFileSystem"
        fsspec.register_implementation("anabranch-by-name", name)
        assert fsspec.get_filesystem_class("anabranch-by-name") is AnabranchFileSystem

    def test_mappings_and_caches_of_fsspec(self, fs, sea):
        fsspec.register_implementation("anabranch", AnabranchFileSystem, clobber=True)
        stored = fs.get_mapper(f"{sea}/main/array")
        stored.setitems({"0.0": b"1", "0.1": b"2", "meta/.zattrs": b"{}"})
        head = fs.lake.commits.commit(sea, "main", message="array").id
        for root in (f"{sea}/main/array", f"{sea}/{head}/array"):
            chunks = fs.get_mapper(root)
            assert sorted(chunks) == ["0.0", "0.1", "meta/.zattrs"]
            found = chunks.getitems(["0.0", "0.1", "0.2"], on_error="omit")
            assert found == {"0.0": b"1", "0.1": b"2"}
            with pytest.raises(KeyError):
                chunks["0.2"]
        url = f"simplecache::anabranch://{sea}/{head}/array/0.1"
        with fsspec.open(url, "rb", anabranch=fs.storage_options) as file:
            assert file.read() == b"2"

    def test_urls_open_files(self, fs, sea, monkeypatch):
        fsspec.register_implementation("anabranch", AnabranchFileSystem, clobber=True)
        options = fs.storage_options
        url = f"anabranch://{sea}/main/a.csv.gz"
        with fsspec.open(url, "wt", compression="infer", **options) as file:
            file.write("a,b\n")
        with fsspec.open(url, "rt", compression="infer", **options) as file:
            assert file.read() == "a,b\n"
        assert fs.cat_file(url)[:2] == b"\x1f\x8b"
        # for this test alone: others use the file system that lakefs-spec registers
        monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "lakefs", None)
        register_lakefs()
        with fsspec.open(f"lakefs://{sea}/main/b", "w", **options) as file:
            file.write("1")
        assert fs.unstrip_protocol(f"{sea}/main/b") == f"anabranch://{sea}/main/b"
        assert fs.cat_file(f"lakefs://{sea}/main/b") == b"1"
