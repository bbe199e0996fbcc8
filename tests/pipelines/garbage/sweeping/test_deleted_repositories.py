"""What a deleted repository refers to is kept by collections of others until it is forgotten, also
if it is restored at any step of one, and whether the collector reads the store or a server's lists.
"""

from __future__ import annotations

import io
from contextlib import suppress

import pyarrow.parquet as pq
import pytest
from support.garbage import DAY, put, stored
from support.stepped_scenario import Scenario

from anabranch.errors import AnabranchError, NotFound

STEPS = 190


def share(lake):
    """Deletes a repository with shallow copies of objects of `sea`, which has no others: one that
    is committed, and one that is staged.
    """
    paths = ("committed", "staged")
    addresses = [put(lake, f"shared/{path}", body=path.encode()) for path in paths]
    lake.repositories.create("pond", "mem://pond")
    for path in paths:
        lake.objects.copy(
            "pond",
            "main",
            path,
            source_repository="sea",
            source_ref="main",
            source_path=f"shared/{path}",
            shallow=True,
        )
        if path == "committed":
            lake.commits.commit("pond", "main", message="m", committer="ada")
    lake.objects.delete_many("sea", "main", ["shared/committed", "shared/staged"])
    lake.repositories.delete("pond")
    return addresses


def content(lake):
    return [
        b"".join(lake.objects.open("pond", "main", path).chunks())
        for path in ("committed", "staged")
    ]


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path, undo_days=30)
    with scenario.lake:
        scenario.gone = share(scenario.lake)
        yield scenario


def test_a_collection_keeps_what_a_deleted_repository_needs(scenario):
    scenario.clock.advance(20 * DAY)
    scenario.sweep()
    scenario.lake.repositories.restore("pond")
    assert content(scenario.lake) == [b"committed", b"staged"]


@pytest.mark.parametrize("way", ["days", "forget"])
def test_it_is_removed_once_the_repository_is_forgotten(scenario, way):
    lake = scenario.lake
    if way == "forget":
        lake.repositories.forget("pond")
    scenario.clock.advance(33 * DAY if way == "days" else 3 * DAY)
    scenario.sweep()
    kept = stored(lake, "mem://sea/data")
    assert not {address.removeprefix("data/") for address in scenario.gone} & kept
    with pytest.raises(NotFound):
        lake.repositories.restore("pond")


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", range(STEPS))
@pytest.mark.parametrize("days", [20, 30])
def test_restore_at_any_step_of_a_collection(scenario, number, days):
    """After 30 days the repository comes back with its objects, or not at all."""
    scenario.clock.advance(days * DAY - 5)
    restored = []

    def restore():
        if days == 30:
            scenario.clock.advance(10)
        with suppress(AnabranchError):
            scenario.lake.repositories.restore("pond")
            restored.append(True)

    scenario.steps.arm(number, restore)
    scenario.sweep()
    if days == 20:
        assert restored or scenario.steps.left >= 0
    if restored:
        assert content(scenario.lake) == [b"committed", b"staged"]


def test_lists_of_a_server_have_the_addresses(scenario):
    lake, found, token = scenario.lake, [], ""
    while True:
        page = lake.garbage_preparation.uncommitted("sea", token, page_bytes=1)
        if page.location:
            for block in lake.blocks.list(lake.blocks.unqualify(page.location)):
                table = pq.read_table(io.BytesIO(lake.blocks.read(block.address)))
                found += table.column("physical_address").to_pylist()
        token = page.continuation_token
        if not token:
            break
    assert set(scenario.gone) <= set(found)
