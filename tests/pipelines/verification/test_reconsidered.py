"""What changes while an installation is verified is looked at again before it is reported."""

from __future__ import annotations

import time

import pytest
from support.verification.used_installation import commit, open_lake, settings_of

from anabranch.errors import Busy
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.installation.verification import open_verification
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks


def verify_with(folder, before, clock=time.time, **options):
    """Verifies an installation whose store calls `before` ahead of each step."""
    with open_verification(settings_of(folder)) as installation:
        installation.stores.core.clock = clock
        blocks = FaultyBlocks(installation.stores.blocks, before)
        stores = installation.stores._replace(blocks=blocks)
        return Verification(stores, sample=None, **options).run(installation.files)


def once(operation, act):
    """Returns a `before` that acts at the first step of a name."""
    done = []

    def before(step, subject):
        if step == operation and not done:
            done.append(subject)
            act()

    return before


def remove_object(lake, branch, path):
    """Removes an object as a collection does when nothing refers to it."""
    stat = lake.objects.stat("sea", branch, path)
    address = stat.physical_address
    return lambda: lake.blocks.delete([address])


@pytest.mark.parametrize("staged", [True, False])
def test_an_object_that_goes_with_its_last_reference_is_no_finding(folder, staged):
    with open_lake(folder) as lake:
        lake.branches.create("sea", "gone", "main")
        if staged:
            lake.objects.upload("sea", "gone", "only", [b"of this branch"])
        else:
            commit(lake, "gone", only=b"of this branch")
        remove = remove_object(lake, "gone", "only")

        def forget():
            lake.branches.delete("sea", "gone")
            operation = lake.operations.list("sea", amount=1).items[0]
            repository = lake.core.repositories.get("sea")
            lake.core.operation_retention.give_up(repository, operation.id)
            if not staged:
                lake.garbage_rules.set("sea", RetentionRules(default_days=1))
                clock.advance(5 * 86_400)
            remove()

        clock = Clock(time.time())
        report = verify_with(folder, once("list", forget), clock)
        assert [each for each in report.findings if "only" in each.subject] == []


def test_an_object_that_goes_while_it_is_needed_is_a_finding(folder):
    with open_lake(folder) as lake:
        report = verify_with(folder, once("list", remove_object(lake, "main", "2/3")))
    assert {each.kind for each in report.findings} == {"object_missing"}
    assert any(each.subject == "sea 2/3" for each in report.findings)


def test_a_repository_that_is_deleted_meanwhile_is_no_finding(folder):
    with open_lake(folder) as lake:
        lake.repositories.create("brief", "local://brief")
        lake.objects.upload("brief", "main", "a", [b"a"])
        lake.commits.commit("brief", "main", message="m")

        def delete():
            lake.repositories.delete("brief")
            lake.blocks.delete([each.address for each in lake.blocks.list("local://brief/")])

        report = verify_with(folder, once("list", delete))
        assert report.findings == []


def test_an_upload_that_ends_meanwhile_is_no_finding(folder):
    with open_lake(folder) as lake:
        upload = lake.uploads.create("sea", "main", "brief")
        lake.uploads.put_part("sea", "main", "brief", upload.id, 1, [b"p"])

        def abort():
            lake.uploads.abort("sea", "main", "brief", upload.id)

        assert verify_with(folder, once("parts", abort)).findings == []


def test_a_store_that_cannot_be_read_ends_the_verification(folder):
    def refuse(step, _subject):
        if step == "list":
            raise Busy("the store is away", kind="storage_failed")

    with pytest.raises(Busy):
        verify_with(folder, refuse)


def test_parts_that_cannot_be_read_are_a_finding(folder):
    def refuse(step, _subject):
        if step == "parts":
            raise Busy("the store is away", kind="storage_failed")

    report = verify_with(folder, refuse)
    assert report.counts == {"upload_unreadable": 1}
