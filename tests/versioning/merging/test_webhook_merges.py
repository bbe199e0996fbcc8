"""Merges whose conflicts a webhook settles, over a repository."""

import base64
import json

import pytest
from support.http_servers import answer, serving

from anabranch.errors import MergeConflict
from anabranch.outbound.address_guard import AddressGuard
from tests.versioning.conftest import Versions
from tests.versioning.merging.conftest import Contents, merge_rules


@pytest.fixture
def lake(tmp_path):
    """A lake whose webhooks may lead to this machine; both sides changed `a` and `b`."""
    lake = Contents(Versions(tmp_path, webhook_guard=AddressGuard(["127.0.0.1"])))
    before = {"a": b"0", "b": b"0"}
    lake.diverge(before, {"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"})
    return lake


class Service:
    """A webhook that joins both sides' content, but responds to `failing` paths as told."""

    def __init__(self, failing=None):
        self.failing = failing or {}
        self.asked = []

    def __call__(self, handler):
        asked = json.loads(handler.request_body)
        self.asked.append(asked)
        if asked["path"] in self.failing:
            self.failing[asked["path"]](handler)
            return
        sides = [base64.b64decode(asked[side]["content"]) for side in ("source", "destination")]
        merged = base64.b64encode(b"+".join(sides)).decode()
        answer(body=json.dumps({"content": merged, "content_type": "a/b"}).encode())(handler)


def webhook(port):
    return ("*", "webhook", {"url": f"http://127.0.0.1:{port}/"})


def test_merged_content_is_stored_with_its_media_type(lake):
    theirs, head = (lake.core.references.commit(lake.repository, ref) for ref in ("dev", "main"))
    service = Service()
    with serving(service) as (port, _):
        lake.merge(webhook(port))
    assert lake.tree("main") | {"a": b"1+2", "b": b"1+2"} == lake.tree("main")
    resolved = lake.core.references.resolve(lake.repository, "main")
    assert lake.core.objects.entry_at(lake.repository, resolved, "a").content_type == "a/b"
    base = lake.core.merger.base(lake.repository, theirs, head)
    ids = {"base": base.id, "source": theirs.id, "destination": head.id}
    assert [each["path"] for each in service.asked] == ["a", "b"]
    assert [each["commits"] for each in service.asked] == [ids, ids]
    assert service.asked[0]["repository"] == "sea"


@pytest.mark.parametrize(
    "failure",
    [
        answer(500),
        answer(body=b"nonsense"),
        answer(302, Location="http://169.254.169.254/latest"),
        answer(body=b'{"conflicts": [{"key": {"id": 1}}]}'),
    ],
)
def test_a_failure_for_one_path_leaves_nothing_of_the_others(lake, failure):
    before, stored = lake.tree("main"), lake.blocks()
    with serving(Service({"b": failure})) as (port, _), pytest.raises(MergeConflict) as refused:
        lake.merge(webhook(port))
    (conflict,) = refused.value.conflicts
    assert (conflict.path, conflict.strategy) == ("b", "webhook")
    assert conflict.reason or conflict.details
    assert lake.tree("main") == before
    assert lake.blocks() == stored


def test_a_webhook_that_timed_out_is_not_asked_again(lake):
    def hang(handler):
        handler.rfile.read(1)

    service = Service({"a": hang, "b": hang})
    with serving(service) as (port, _):
        path, name, options = webhook(port)
        with pytest.raises(MergeConflict) as refused:
            lake.merge((path, name, {**options, "timeout": 0.3}))
    first, second = refused.value.conflicts
    assert "no whole response in time" in first.reason
    assert second.reason == "the strategy was not asked, since it timed out for a"
    assert [each["path"] for each in service.asked] == ["a"]


def test_a_dry_run_asks_but_stores_nothing(lake):
    stored, service = lake.blocks(), Service()
    with serving(service) as (port, _):
        preview = lake.preview(webhook(port))
    assert [tuple(each) for each in preview.settled] == [("a", "webhook"), ("b", "webhook")]
    assert lake.blocks() == stored
    assert len(service.asked) == 2


def test_cherry_picks_and_reverts_and_rebases_name_their_commits(lake):
    core, repository = lake.core, lake.repository
    picked, head = (core.references.commit(repository, ref) for ref in ("dev", "main"))
    service = Service()
    with serving(service) as (port, _):
        rules = merge_rules(webhook(port))
        core.merger.cherry_pick(lake.versions.change("main"), "dev", rules=rules)
        ids = {"base": picked.parents[0], "source": picked.id, "destination": head.id}
        assert service.asked[0]["commits"] == ids

        tip = core.references.commit(repository, "main")
        core.reverter.revert(lake.versions.change("main"), [head.id], parent_number=0, rules=rules)
        ids = {"base": head.id, "source": head.parents[0], "destination": tip.id}
        assert service.asked[2]["commits"] == ids

        onto = core.references.commit(repository, "main")
        core.rebaser.rebase(lake.versions.change("dev"), onto, rules=rules)
        ids = {"base": picked.parents[0], "source": picked.id, "destination": onto.id}
        assert service.asked[4]["commits"] == ids


def test_private_addresses_are_not_asked_by_default(tmp_path):
    lake = Contents(Versions(tmp_path))
    lake.diverge({"a": b"0"}, {"a": b"1"}, {"a": b"2"})
    service = Service()
    with serving(service) as (port, _), pytest.raises(MergeConflict) as refused:
        lake.merge(webhook(port))
    assert "the address of 127.0.0.1 is not permitted" in refused.value.conflicts[0].reason
    assert service.asked == []
