"""What a collection through a server must be told about tables, and what it does if it is not."""

from __future__ import annotations

import pytest

from anabranch.catalog.garbage.table_records import TableRecords
from anabranch.errors import Conflict, Denied, Invalid, NotFound, NotSupported
from anabranch.pipelines.garbage.collector import Collector
from anabranch.versioning.garbage.record_admission import RecordAdmission

from .catalog_requests import CatalogRequests, served_in_process
from .scenario import (
    TableScenario,
    add_dead_files,
    attempt,
    stage_dead_files,
)
from .table_engine import Lost, path_of, read, readable, stored_file


class Requests(CatalogRequests):
    """Requests whose answers are changed: `alter` is given what they are for, and the answer."""

    def __init__(self, lake, alter):
        super().__init__(lake)
        self._alter = alter

    def _perform(self, method, segments, query, body):
        self._alter(segments, None)
        answer = super()._perform(method, segments, query, body)
        self._alter(segments, answer)
        return answer


@pytest.fixture
def scenario(tmp_path):
    scenario = TableScenario(tmp_path, way="server")
    with scenario.lake:
        yield scenario


def collector(scenario, alter):
    requests = Requests(scenario.lake, alter)
    installation = served_in_process(
        scenario.lake, scenario.folder / "altered", scenario.clock, requests
    )
    return Collector(
        installation, scenario.lake.blocks, scenario.folder / "altered", clock=scenario.clock
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "refusal",
    [Denied("not for all repositories"), NotFound("no such path", kind="invalid_endpoint")],
    ids=["no-right", "older"],
)
def test_without_the_records_all_files_stay(scenario, refusal):
    def alter(segments, _):
        if segments[-1:] == ("table_records",):
            raise refusal

    before = scenario.files()
    with collector(scenario, alter).mark("sea", window_seconds=0) as run:
        summary = run.sweep()
    assert scenario.files() == before
    assert not summary.tables.collected
    assert "all repositories" in summary.tables.reason


def test_a_server_that_ceases_to_tell_the_records_ends_the_run(scenario):
    calls = []

    def alter(segments, answer):
        if segments[-1:] == ("table_records",) and answer is None:
            calls.append(segments)
            if len(calls) > 4:
                raise Denied("not any more")

    before = scenario.files()
    with collector(scenario, alter).mark("sea", window_seconds=0) as run, pytest.raises(Denied):
        run.sweep()
    assert scenario.files() == before


@pytest.mark.sample(1)
@pytest.mark.parametrize("told", [False, None])
def test_nothing_is_removed_through_a_server_that_does_not_record_it(scenario, told, monkeypatch):
    """An older one beside a new one takes tombstones, and does not record whose they are."""
    monkeypatch.setattr(RecordAdmission, "record_swept", lambda _: None)

    def alter(segments, answer):
        if segments[-1:] == ("sweeps",) and answer is not None and told is None:
            del answer["tables_swept"]

    before = scenario.files()
    run = collector(scenario, alter).mark("sea", window_seconds=0)
    with run, pytest.raises(NotSupported, match="not recorded"):
        run.sweep()
    assert scenario.files() == before
    assert scenario.lake.core.sweeps.running()[0] == []


def test_a_repository_that_the_user_may_not_list_ends_the_run(scenario):
    scenario.lake.repositories.create("hidden", "mem://hidden")

    def alter(segments, answer):
        if segments == () and answer is not None:
            answer["results"] = [each for each in answer["results"] if each["id"] != "hidden"]

    with pytest.raises(Conflict, match="hidden"):
        collector(scenario, alter).mark("sea", window_seconds=0)


def test_records_come_in_pages_of_any_size(scenario):
    lake = scenario.lake
    for branch in ("main", "side"):
        for name in ("one", "two", "three"):
            lake.objects.upload("sea", branch, path_of(name), [scenario.old_record])
    # a sealed area, whose entry counts beside that of a newer one at the same path
    sea = lake.core.repositories.get("sea")
    (main,) = (each for each in lake.core.branches.all(sea) if each.id == "main")
    sealed = lake.core.branches.seal(sea, main)
    lake.core.keyvalue.apply([lake.core.branches.write(sea, sealed)])
    lake.objects.upload("sea", "main", path_of("two"), [b" " + scenario.old_record])
    lake.repositories.create("land", "mem://land")
    lake.repositories.create("gone", "mem://gone")
    lake.objects.upload("gone", "main", path_of("old"), [scenario.old_record])
    lake.commits.commit("gone", "main", committer="me", message="m")
    lake.objects.upload("gone", "main", path_of("staged"), [scenario.old_record])
    lake.core.operation_retention.set_undo_days(lake.core.repositories.get("gone"), 30)
    lake.repositories.delete("gone")
    records = TableRecords(lake.core, lake.blocks)

    def found(amount):
        pages, after = [], ""
        while True:
            page = records.page(after, amount)
            pages.append(page)
            if not page.has_more:
                break
            after = page.next_offset
        rows = [
            (item.repository.id, item.deleted, *record)
            for each in pages
            for item in each.items
            for record in item.records
        ]
        names = {item.repository.id for each in pages for item in each.items}
        return sorted(rows), names, len(pages)

    whole, names, pages = found(1000)
    assert pages == 1
    assert names == {"sea", "land", "gone"}
    assert [row[2] for row in whole if row[1]] == [path_of("old"), path_of("staged")]
    assert sum(row[2] == path_of("two") for row in whole) == 3
    for amount in (1, 2, 3, 5):
        rows, same, pages = found(amount)
        assert (rows, same) == (whole, names)
        assert pages > 1
    with pytest.raises(Invalid):
        records.page("nonsense", 1)


def only_the_first_page(patch):
    """A collector reads the first page of records alone."""
    original = TableRecords.page
    patch.setattr(
        TableRecords,
        "page",
        lambda self, after, _: (
            type(page)(page.items) if (page := original(self, after, 2)) else page
        ),
    )


def test_without_all_pages_files_are_lost(scenario, monkeypatch):
    """The fault that pages could have is found."""
    live = scenario.lake.objects.open("sea", "main", path_of("trips")).read_bytes()
    for name in ("a", "b", "c"):
        scenario.lake.objects.upload("sea", "main", path_of(name), [live])
    reference = attempt(scenario, stage_dead_files)
    assert reference is not None
    only_the_first_page(monkeypatch)
    with scenario.mark() as run:
        run.sweep()
    assert readable(scenario.lake, "main") is None


def test_staged_records_keep_their_files(scenario):
    assert attempt(scenario, stage_dead_files) is not None
    before = read(scenario.lake, "main")
    with scenario.mark() as run:
        run.sweep()
    assert read(scenario.lake, "main") == before


def test_what_was_removed_through_a_server_is_refused(scenario):
    with scenario.mark() as run:
        assert run.sweep().tables.dead.objects
    with pytest.raises(Lost):
        stored_file(scenario.lake, scenario.dead[0])
    assert attempt(scenario, add_dead_files) is None
