"""Imports from a folder: their commits, errors, cancellation and recorded states."""

from __future__ import annotations

import os
import threading
import time

import pytest

from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.errors import Conflict, Denied, Gone, Invalid, NotFound, ReadOnlyRepository
from anabranch.model.imports import ImportSource
from anabranch.model.objects.entry import Entry
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.pipelines.jobs import job
from anabranch.testing.lake import Clock


def put(lake, path, branch="main"):
    repository = lake.core.repositories.get("sea")
    lake.core.changes.put(
        repository, branch, path, Entry(address=f"data/{path}", size=1, mtime=1, checksum=path)
    )


@pytest.fixture
def gate(lake, monkeypatch):  # noqa: ARG001  the lake waits for its imports when it is closed
    """An event that listings wait for before their first file."""
    gate = threading.Event()
    listing = LocalExternalObjects.list

    def wait_and_list(self, prefix):
        for source in listing(self, prefix):
            assert gate.wait(60)
            yield source

    monkeypatch.setattr(LocalExternalObjects, "list", wait_and_list)
    monkeypatch.setattr(job, "_HEARTBEAT_INTERVAL", 0.02)
    yield gate
    gate.set()


class TestImport:
    def test_adds_objects_without_copying_them(
        self, lake, import_folder, fill, start, ended, listed
    ):
        fill("raw/a.csv", "raw/deep/b.csv", "else")
        status = ended(start(("raw/", "tables"), message="Bring in", metadata={"from": "raw"}))
        assert (status.completed, status.error, status.progress) == (True, "", 2)
        assert listed() == {
            "tables/a.csv": f"local://{import_folder}/raw/a.csv",
            "tables/deep/b.csv": f"local://{import_folder}/raw/deep/b.csv",
        }
        commit = lake.commits.get("sea", "main")
        assert commit == status.commit
        assert commit.metarange_id == status.metarange_id
        assert (commit.committer, commit.message) == ("tester", "Bring in")
        assert commit.metadata == {"from": "raw", ".lakefs.merge.strategy": "source-wins"}
        opened = lake.objects.open("sea", "main", "tables/deep/b.csv")
        assert b"".join(opened.chunks()) == b"raw/deep/b.csv"
        assert opened.entry.content_type == "application/octet-stream"

    def test_has_a_default_message(self, fill, start, ended):
        fill("a")
        status = ended(start(("", ""), date=1_700_000_000))
        assert status.commit.message == "Import objects"
        assert status.commit.creation_date == 1_700_000_000

    def test_time_is_stored_in_the_repository_metadata(self, lake, fill, start, ended):
        fill("a")
        before = int(time.time())
        ended(start(("", "")))
        lake.imports.close()  # waits for the write that follows the commit
        metadata = lake.repositories.metadata("sea")
        assert before <= int(metadata[".lakefs.last.import.timestamp"]) <= time.time()

    @pytest.mark.parametrize("name", ["raw", "raw/", "raw/deep"])
    def test_of_a_folder_has_paths_without_its_name(
        self, lake, import_folder, fill, ended, listed, name
    ):
        fill("raw/a.csv", "raw/deep/b.csv", "raw2/c.csv", "raw.csv")
        source = ImportSource(
            type="common_prefix", path=f"local://{import_folder}/{name}", destination="x"
        )
        request = ImportRequest(branch="main", sources=[source], committer="tester")
        ended(lake.imports.start("sea", request))
        expected = ["x/b.csv"] if name == "raw/deep" else ["x/a.csv", "x/deep/b.csv"]
        assert list(listed()) == expected

    def test_can_have_several_sources(self, fill, start, ended, listed):
        fill("a/1", "a/2", "b/1", "c")
        ended(start(("a/", "x/"), ("b/", ""), ("c", "x/2"), ("c", "d/e")))
        assert {path: address.rpartition("outside/")[2] for path, address in listed().items()} == {
            "x/1": "a/1",
            "1": "b/1",
            "x/2": "c",  # from the last source with this path
            "d/e": "c",
        }

    def test_replaces_all_objects_under_its_destination(self, lake, fill, start, ended, listed):
        fill("new")
        for path in ("x/a", "x/new", "x/z/deep", "x0", "w", "x-", "x"):
            put(lake, path)
        lake.commits.commit("sea", "main", message="before", committer="tester")
        assert ended(start(("", "x"))).completed
        assert list(listed()) == ["w", "x", "x-", "x/new", "x0"]

    def test_of_an_object_replaces_only_that_path(self, lake, fill, start, ended, listed):
        fill("new")
        for path in ("x", "x/a", "xy"):
            put(lake, path)
        lake.commits.commit("sea", "main", message="before", committer="tester")
        assert ended(start(("new", "x"))).completed
        assert list(listed()) == ["x", "x/a", "xy"]
        assert listed()["x"].endswith("/new")

    def test_repeated_writes_the_same_tree(self, fill, start, ended):
        fill("a", "b/c")
        first = ended(start(("", "")))
        second = ended(start(("", "")))
        assert second.metarange_id == first.metarange_id
        assert second.commit.parents == (first.commit.id,)

    def test_includes_commits_that_were_made_meanwhile(
        self, lake, fill, start, ended, listed, gate
    ):
        fill("a")
        import_id = start(("", "x"))
        put(lake, "b")
        lake.commits.commit("sea", "main", message="meanwhile", committer="tester")
        gate.set()
        assert ended(import_id).completed
        assert list(listed()) == ["b", "x/a"]


class TestErrors:
    @pytest.mark.parametrize(
        ("path", "message"), [("empty/", "nothing to import"), ("nowhere/", "no such folder")]
    )
    def test_source_without_objects_fails(
        self, lake, import_folder, fill, start, ended, path, message
    ):
        (import_folder / "empty").mkdir()
        fill("a")
        head = lake.branches.get("sea", "main")
        status = ended(start(("", "x"), (path, "y")))
        assert not status.completed
        assert message in status.error
        assert lake.branches.get("sea", "main") == head

    def test_uncommitted_changes_fail_the_import_and_are_kept(self, lake, fill, start, ended, gate):
        fill("a")
        put(lake, "b")
        assert ended(start(("", ""))).error == "merge import: uncommitted changes (dirty branch)"
        lake.branches.reset("sea", "main", "reset")
        import_id = start(("", ""))
        put(lake, "b")
        gate.set()
        assert ended(import_id).error == "merge import: uncommitted changes (dirty branch)"
        assert [change.path for change in lake.branches.changes("sea", "main", amount=9).items] == [
            "b"
        ]

    def test_error_counts_invalid_names_and_shows_the_first(
        self, lake, import_folder, fill, start, ended
    ):
        fill("good", "a" * 250 + "/" + "b" * 250 + "/" + "c" * 250 + "/" + "d" * 250)
        for number in range(10):
            (import_folder / os.fsdecode(b"bad\xff%d" % number)).write_bytes(b"")
        head = lake.branches.get("sea", "main")
        error = ended(start(("", "x" * 21))).error
        assert error.startswith("11 of the objects cannot be imported: ")
        assert "at most 1024" in error
        assert "is not UTF-8" in error
        assert "and 6 more" in error
        assert lake.branches.get("sea", "main") == head

    def test_sources_that_may_not_be_imported_raise_when_it_is_started(
        self, lake, tmp_path, import_folder
    ):
        def start(path, destination="", kind="common_prefix"):
            source = ImportSource(type=kind, path=path, destination=destination)
            lake.imports.start(
                "sea", ImportRequest(branch="main", sources=[source], committer="tester")
            )

        with pytest.raises(Denied, match="not in allowed external prefixes"):
            start(f"local://{tmp_path}/")
        with pytest.raises(Invalid, match="invalid import source"):
            start("s3://bucket/")
        with pytest.raises(Invalid, match="missing path"):
            start(f"local://{import_folder}/a", "", "object")
        with pytest.raises(Invalid, match="import paths are missing"):
            lake.imports.start("sea", ImportRequest(branch="main", sources=[], committer="tester"))

    def test_sources_in_or_around_the_storage_namespace_raise_invalid(self, tmp_path, ended):
        from anabranch.blocks.local.store import LocalBlocks
        from anabranch.keyvalue.memory import MemoryStore
        from anabranch.library import Lake

        blocks = LocalBlocks(tmp_path, import_enabled=True, external_prefixes=[str(tmp_path)])
        with Lake(
            MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
        ) as lake:
            lake.repositories.create("sea", "local://a/sea")

            def request(kind, path):
                address = f"local://{tmp_path}/{path}"
                source = ImportSource(type=kind, path=address, destination="x")
                return ImportRequest(branch="main", sources=[source], committer="tester")

            within = r"import path \(.*\) in repository namespace \(.*\) is prohibited: invalid"
            around = r"prefix \(.*\) contains repository namespace: \(.*\), invalid"
            for kind, path, message in (
                ("common_prefix", "a/sea/", within),
                ("common_prefix", "a/sea/data/", within),
                ("object", "a/sea/data/x", within),
                ("common_prefix", "a/sea", around),
                ("common_prefix", "a/", around),
                ("common_prefix", "a/s", around),
            ):
                with pytest.raises(Invalid, match=message):
                    lake.imports.start("sea", request(kind, path))
            # an object outside of the namespace whose path begins with the namespace's name
            (tmp_path / "a/sea.csv").write_text("abc")
            for path, error in (("a/sea.csv", ""), ("a/sea", "there is no such file")):
                import_id = lake.imports.start("sea", request("object", path))
                assert error in ended(import_id, lake).error

    def test_missing_import_raises_not_found(self, lake, fill, start):
        fill("a")
        with pytest.raises(NotFound, match="branch not found"):
            start(("", ""), branch="nowhere")
        for call in (lake.imports.status, lake.imports.cancel):
            with pytest.raises(NotFound, match="import not found"):
                call("sea", "main", "unknown")

    def test_read_only_repositories_raise_unless_forced(self, lake, import_folder, fill):
        fill("a")
        lake.repositories.create("fixed", "local://fixed", read_only=True)
        source = ImportSource(
            type="common_prefix", path=f"local://{import_folder}/", destination=""
        )
        request = ImportRequest(branch="main", sources=[source], committer="tester")
        with pytest.raises(ReadOnlyRepository):
            lake.imports.start("fixed", request)
        lake.imports.start("fixed", request, force=True)

    def test_reading_an_imported_file_that_was_removed_raises_gone(
        self, lake, import_folder, fill, start, ended
    ):
        fill("a")
        ended(start(("", "")))
        (import_folder / "a").unlink()
        with pytest.raises(Gone):
            b"".join(lake.objects.open("sea", "main", "a").chunks())


class TestCancel:
    def test_stops_the_import_and_leaves_the_branch_unchanged(self, lake, fill, start, ended, gate):
        fill("a", "b")
        head = lake.branches.get("sea", "main")
        import_id = start(("", ""))
        lake.imports.cancel("sea", "main", import_id)
        assert ended(import_id).error == "Canceled"
        lake.imports.cancel("sea", "main", import_id)
        gate.set()
        lake.imports.close()
        status = lake.imports.status("sea", "main", import_id)
        assert (status.completed, status.error) == (False, "Canceled")
        assert lake.branches.get("sea", "main") == head

    def test_by_another_server_stops_the_import(self, lake, fill, start, ended, gate):
        fill("a", "b")
        head = lake.branches.get("sea", "main")
        import_id = start(("", ""))
        # another server has only the record
        jobs = lake.imports._jobs
        jobs._running, job = {}, jobs._running
        lake.imports.cancel("sea", "main", import_id)
        gate.set()
        job[import_id].wait(60)
        assert ended(import_id).error == "Canceled"
        assert lake.branches.get("sea", "main") == head

    def test_completed_import_raises_conflict(self, lake, fill, start, ended):
        fill("a")
        import_id = start(("", ""))
        assert ended(import_id).completed
        with pytest.raises(Conflict):
            lake.imports.cancel("sea", "main", import_id)
        assert ended(import_id).completed

    def test_failed_import_is_left_unchanged(self, lake, start, ended):
        import_id = start(("nowhere/", ""))
        error = ended(import_id).error
        lake.imports.cancel("sea", "main", import_id)
        assert ended(import_id).error == error

    def test_concurrent_with_completion_either_cancels_or_raises(self, lake, fill, start, ended):
        fill("a")
        for delay in range(12):
            before = lake.branches.get("sea", "main")
            import_id = start(("", f"{delay}"))
            time.sleep(delay / 400)
            try:
                lake.imports.cancel("sea", "main", import_id)
            except Conflict:
                assert ended(import_id).completed
                assert lake.branches.get("sea", "main") != before
            else:
                assert ended(import_id).error == "Canceled"
                lake.imports.close()
                assert lake.branches.get("sea", "main") == before


class TestStates:
    @pytest.mark.usefixtures("gate")
    def test_are_updated_while_the_import_runs(self, lake, fill, start):
        fill("a")
        import_id = start(("", ""))
        first = lake.imports.status("sea", "main", import_id)
        assert not first.ended
        deadline = time.monotonic() + 60
        while lake.imports.status("sea", "main", import_id).updated_at == first.updated_at:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def test_of_a_server_that_stops_are_interrupted(self, lake, fill, start, gate):
        fill("a")
        head = lake.branches.get("sea", "main")
        import_id = start(("", ""))
        threading.Timer(0.1, gate.set).start()
        lake.imports.close()
        status = lake.imports.status("sea", "main", import_id)
        assert status.error == "interrupted: the server was stopped"
        assert lake.branches.get("sea", "main") == head

    def test_of_a_server_that_was_killed_are_interrupted(self, lake):
        repository = lake.core.repositories.get("sea")
        now = time.time()
        lake.core.imports.replace(repository, None, JobStatus(id="lost", updated_at=now - 61))
        lake.core.imports.replace(repository, None, JobStatus(id="busy", updated_at=now))
        assert "the server that ran the import has ended" in (
            lake.imports.status("sea", "main", "lost").error
        )
        assert not lake.imports.status("sea", "main", "busy").ended

    def test_are_kept_for_a_day(self, lake, fill, start, ended):
        fill("a")
        clock = Clock(time.time())
        lake.imports._clock = lake.imports._jobs._clock = clock
        old = start(("", ""))
        ended(old)
        clock.advance(24 * 3600 + 1)
        with pytest.raises(NotFound):
            lake.imports.status("sea", "main", old)
        new = start(("", ""))
        repository = lake.core.repositories.get("sea")
        assert [stored.status.id for stored in lake.core.imports.all(repository)] == [new]
