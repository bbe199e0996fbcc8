"""What is kept of files of tables between runs: a later run reads what is new, and what is kept
never counts for a file that has become another one.
"""

from __future__ import annotations

import pytest
from support.verification.table_manifests import manifest

from anabranch.pipelines.garbage.addresses import checked_file
from anabranch.versioning.garbage.table_files import TableFiles

from .scenario import WAYS, TableScenario
from .table_engine import Lost, read, stored_file


@pytest.fixture(params=WAYS)
def scenario(request, tmp_path):
    scenario = TableScenario(tmp_path, way=request.param)
    with scenario.lake:
        yield scenario


def marked(scenario, collector=None):
    """What a run has marked, and the candidates that it has found."""
    with (collector or scenario.collector).mark("sea", window_seconds=0) as run:
        found = {name for batch in run.due() for name in batch.column("address").to_pylist()}
        return run.summary.tables.marked, found


def kept_files(scenario):
    gc = scenario.folder / "gc"
    return [*(gc / "table-names").iterdir(), *(gc / "table-records").iterdir()]


@pytest.mark.sample(1)
def test_a_later_run_reads_what_is_new(scenario):
    first, dead = marked(scenario)
    assert first.read
    again, same = marked(scenario)
    assert (again.records, again.read) == (first.records, 0)
    assert same == dead
    scenario.engine.append("trips", [7])
    scenario.clock.advance(2 * 3600)
    later, _ = marked(scenario)
    assert (later.records, later.read) == (first.records + 1, 3)


@pytest.mark.sample(1)
def test_what_was_stored_just_now_is_read_again(scenario):
    marked(scenario)
    scenario.engine.append("trips", [7])
    for _ in range(2):
        assert marked(scenario)[0].read == 3


@pytest.mark.sample(1)
def test_files_that_another_collector_is_writing_stay(scenario):
    """They share the folder."""
    marked(scenario)
    gc = scenario.folder / "gc"
    files = [gc / name / ".written" for name in ("table-names", "table-records", "spans")]
    for file in files:
        file.write_bytes(b"half of")
    with scenario.mark() as run:
        run.sweep()
    assert all(file.exists() for file in files)


@pytest.mark.sample(2)
@pytest.mark.parametrize("damage", [lambda raw: raw[:-1] + b"?", lambda _: b""])
def test_damaged_files_are_read_again(scenario, damage):
    before, dead = marked(scenario)
    for file in kept_files(scenario):
        file.write_bytes(damage(file.read_bytes()))
    assert marked(scenario) == (before, dead)


@pytest.mark.sample(1)
def test_what_another_version_has_kept_does_not_count(scenario, monkeypatch):
    before = marked(scenario)
    monkeypatch.setattr(checked_file, "_version_digest", lambda: b"another" * 5)
    assert marked(scenario) == before


def rewritten_manifest(scenario):
    """Has a manifest of a live snapshot removed, and written again under its name: it now names
    another file than when it was marked. Returns that file.
    """
    engine = scenario.engine
    (snapshot,) = engine.metadata("trips")["snapshots"]
    name = engine.records(snapshot["manifest-list"])[-1]["manifest_path"]
    new = engine.put(scenario.area, "data/new.parquet", b"needed")
    address = f"mem://sea/tables/{name.partition('/.tables/')[2]}"
    scenario.lake.blocks.delete([address])
    scenario.lake.blocks.put(address, [manifest([new])])
    scenario.clock.advance(30 * 86_400)
    return new


@pytest.mark.sample(1)
def test_a_file_whose_name_was_used_again_is_read_again(scenario):
    marked(scenario)
    new = rewritten_manifest(scenario)
    with scenario.mark() as run:
        run.sweep()
    assert stored_file(scenario.lake, new) == b"needed"
    assert read(scenario.lake, "main")


@pytest.mark.sample(1)
def test_without_a_look_at_the_time_that_file_would_be_lost(scenario, monkeypatch):
    find = TableFiles.find
    monkeypatch.setattr(TableFiles, "find", lambda *given: find(*given)._replace(size=1, mtime=0))
    marked(scenario)
    new = rewritten_manifest(scenario)
    with scenario.mark() as run:
        run.sweep()
    with pytest.raises(Lost):
        stored_file(scenario.lake, new)


@pytest.mark.sample(1)
def test_what_is_not_needed_any_more_is_removed(scenario):
    marked(scenario)
    before = len(kept_files(scenario))
    scenario.engine.drop("trips")
    scenario.engine.drop("other")
    scenario.lake.branches.delete("sea", "side")
    scenario.clock.advance(30 * 86_400)
    scenario.lake.objects.upload("sea", "main", "later", [b"1"])
    scenario.lake.commits.commit("sea", "main", committer="me", message="m")
    scenario.clock.advance(30 * 86_400)
    marked(scenario)
    assert len(kept_files(scenario)) < before / 2


@pytest.mark.sample(1)
def test_two_collectors_share_a_folder(scenario):
    first, dead = marked(scenario)
    other = scenario.make_collector("gc")
    assert marked(scenario, other) == (type(first)(first.records, 0), dead)
