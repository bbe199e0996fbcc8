"""Purges and deleted repositories that can be restored: neither takes what the other needs."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict, NotFound
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import lake_in


def fill(lake):
    for path in ("a", "b/c"):
        lake.objects.upload("sea", "main", path, [path.encode()])
    lake.commits.commit("sea", "main", message="m", committer="ada")
    lake.objects.upload("sea", "main", "staged", [b"staged"])


def test_a_deleted_repository_is_kept_from_purges_until_it_is_forgotten(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        fill(lake)
        lake.repositories.create("pond", "local://pond")
        source = {"source_repository": "sea", "source_ref": "main", "source_path": "a"}
        lake.objects.copy("pond", "main", "a", **source, shallow=True)
        for name in ("pond", "sea"):
            lake.repositories.delete(name)
        (left,) = [each for each in lake.purges.left() if each.repository == "sea"]

        def purge():
            return purge_namespace(
                *(lake.core, lake.blocks, left, lambda: left), advance=lambda _: None, clock=clock
            )

        with pytest.raises(Conflict, match="pond") as refused:
            purge()
        assert refused.value.kind == "namespace_in_use"
        lake.repositories.restore("sea")
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"
        lake.repositories.delete("sea")
        lake.repositories.forget("pond")
        assert purge().objects == 3
        with pytest.raises(NotFound):
            lake.repositories.restore("sea")


def test_a_repository_is_not_restored_while_its_data_are_purged(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        fill(lake)
        lake.repositories.delete("sea")
        (left,) = lake.purges.left()
        tried = []

        def then_restored():
            with pytest.raises(Conflict) as refused:
                lake.repositories.restore("sea")
            tried.append(refused.value.kind)
            return left

        arguments = (lake.core, lake.blocks, left, then_restored)
        purge_namespace(*arguments, advance=lambda _: None, clock=clock)
        assert tried == ["purge_under_way"]


def test_a_purge_that_begins_after_its_repository_was_restored_is_refused(tmp_path, clock):
    """A purge may have waited for others to end."""
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        fill(lake)
        lake.repositories.delete("sea")
        (left,) = lake.purges.left()
        lake.repositories.restore("sea")
        with pytest.raises(Conflict, match="sea") as refused:
            purge_namespace(
                *(lake.core, lake.blocks, left, lambda: left), advance=lambda _: None, clock=clock
            )
        assert refused.value.kind == "namespace_in_use"
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"
        assert lake.objects.open("sea", "main", "staged").read_bytes() == b"staged"
