"""The wrapper `lakefs`: repositories, branches, tags, commits, differences, merges."""

from __future__ import annotations

import lakefs
import pytest
from lakefs.client import Client
from lakefs.exceptions import (
    BadRequestException,
    ConflictException,
    ForbiddenException,
    NotAuthorizedException,
    NotFoundException,
)


@pytest.fixture
def main(lake):
    return lake.branch("main")


def save(branch, path, content="content"):
    branch.object(path).upload(content)
    return branch.commit(f"Save {path}")


def listed(reference, **parameters):
    return [item.path for item in reference.objects(**parameters)]


def changes(found):
    return [(change.type, change.path) for change in found]


def test_the_client_knows_the_server(client, server):
    assert client.version
    store = client.storage_config.blockstore_type
    assert server.storage.startswith(f"{store}://")
    assert client.storage_config.pre_sign_support is (store == "s3")


def test_a_repository_is_created_found_and_deleted(client, fresh, server):
    repository = lakefs.Repository(fresh, client=client)
    repository.create(storage_namespace=f"{server.storage}{fresh}", default_branch="trunk")
    assert repository.properties.default_branch == "trunk"
    assert repository.metadata == {}
    found = [each.id for each in lakefs.repositories(client, prefix=fresh)]
    assert found == [fresh]
    with pytest.raises(ConflictException):
        repository.create(storage_namespace=f"{server.storage}{fresh}")
    again = lakefs.Repository(fresh, client=client)
    again.create(storage_namespace=f"{server.storage}{fresh}", exist_ok=True)
    assert again.properties == repository.properties
    repository.delete()
    with pytest.raises(NotFoundException):
        _ = lakefs.Repository(fresh, client=client).properties


def test_a_repository_may_begin_with_samples(client, fresh, server):
    repository = lakefs.Repository(fresh, client=client)
    repository.create(storage_namespace=f"{server.storage}{fresh}", include_samples=True)
    assert "README.md" in listed(repository.branch("main"))


def test_a_namespace_in_use_is_a_bad_request(lake, client, fresh, server):
    with pytest.raises(BadRequestException) as caught:
        lakefs.Repository(f"{fresh}-2", client=client).create(f"{server.storage}{lake.id}")
    assert "storage namespace already in use" in caught.value.body["message"]


def test_a_stranger_is_not_authorized(server, lake):
    stranger = Client(host=server.url, username="AKIAJUNKNOWNUNKNOWNQ", password="wrong")
    with pytest.raises(NotAuthorizedException) as caught:
        lakefs.Repository(lake.id, client=stranger).branch("main").get_commit()
    assert caught.value.status_code == 401
    assert caught.value.body == {"message": "error authenticating request"}


def test_branches_are_created_listed_and_deleted(lake, main):
    save(main, "a")
    for branch in ("dev-b", "dev-a"):
        assert lake.branch(branch).create(source_reference=main).get_commit() == main.get_commit()
    assert [each.id for each in lake.branches()] == ["dev-a", "dev-b", "main"]
    assert [each.id for each in lake.branches(prefix="dev-", max_amount=1)] == ["dev-a"]
    with pytest.raises(ConflictException):
        lake.branch("dev-a").create("main")
    lake.branch("dev-a").create("main", exist_ok=True)
    lake.branch("dev-a").delete()
    with pytest.raises(NotFoundException):
        lake.branch("dev-a").get_commit()
    with pytest.raises(NotFoundException):
        lake.branch("other").create("nope")
    with pytest.raises(BadRequestException):
        lake.branch("a b").create("main")


def test_the_default_branch_is_kept(main):
    with pytest.raises(ForbiddenException):
        main.delete()
    assert main.head.id


def test_listing_continues_beyond_one_page(lake):
    for number in range(105):
        lake.branch(f"branch-{number:03}").create("main")
    assert len(list(lake.branches())) == 106
    assert len(list(lake.branches(max_amount=103))) == 103


def test_a_commit_is_described_and_logged(lake, main):
    main.object("a").upload("one")
    made = main.commit("Add a", metadata={"ticket": "7"})
    commit = made.get_commit()
    assert (commit.message, commit.metadata) == ("Add a", {"ticket": "7"})
    assert main.get_commit() == commit
    assert lake.commit(made.id).get_commit() == commit
    assert lake.ref("main~0").get_commit() == commit
    log = list(main.log())
    assert [each.message for each in log] == ["Add a", "Repository created"]
    assert [each.message for each in main.log(max_amount=1)] == ["Add a"]
    with pytest.raises(BadRequestException) as caught:
        main.commit("Nothing")
    assert caught.value.body == {"message": "commit: no changes"}
    assert main.commit("Nothing", allow_empty=True).get_commit().parents == [commit.id]


def test_a_branch_object_follows_its_branch(main):
    first = save(main, "a")
    assert main.get_commit().id == main.head.id == first.id
    second = save(main, "b")
    assert main.get_commit().id == main.head.id == second.id


@pytest.mark.parametrize("reference", ["nope", "main~7"])
def test_an_unknown_reference_is_not_found(lake, reference):
    for call in (
        lake.ref(reference).get_commit,
        lambda: list(lake.ref(reference).log()),
        lambda: list(lake.ref(reference).objects()),
        lambda: list(lake.ref("main").diff(reference)),
        lambda: lake.tag("v1").create(reference),
        lambda: lake.ref(reference).merge_into("main"),
    ):
        with pytest.raises(NotFoundException):
            call()


def test_tags_are_created_listed_and_deleted(lake, main):
    first = save(main, "a")
    tag = lake.tag("v1").create(main)
    save(main, "b")
    assert tag.get_commit().id == first.id
    assert listed(lake.tag("v1")) == ["a"]
    with pytest.raises(ConflictException):
        lake.tag("v1").create("main")
    lake.tag("v1").create("main", exist_ok=True)
    assert lake.tag("v1").get_commit().id == first.id
    lake.tag("v2").create("main~1")
    assert [each.id for each in lake.tags()] == ["v1", "v2"]
    lake.tag("v1").delete()
    assert [each.id for each in lake.tags()] == ["v2"]
    with pytest.raises(NotFoundException):
        lake.tag("v1").delete()


def test_uncommitted_changes_are_listed_and_reset(main):
    save(main, "kept", "one")
    main.object("kept").upload("two")
    for path in ("dir/a", "dir/b"):
        main.object(path).upload("x")
    assert changes(main.uncommitted()) == [
        ("added", "dir/a"),
        ("added", "dir/b"),
        ("changed", "kept"),
    ]
    assert changes(main.uncommitted(prefix="dir/", after="dir/a")) == [("added", "dir/b")]
    assert len(list(main.uncommitted(max_amount=1))) == 1
    main.reset_changes("object", "kept")
    main.reset_changes("common_prefix", "dir/a")
    assert changes(main.uncommitted()) == [("added", "dir/b")]
    main.reset_changes()
    assert changes(main.uncommitted()) == []


def test_differences_are_listed(lake, main):
    save(main, "a")
    side = lake.branch("side").create("main")
    for path in ("dir/1", "dir/2"):
        save(side, path)
    save(main, "ours")
    assert changes(main.diff(side)) == [("added", "dir/1"), ("added", "dir/2")]
    assert changes(main.diff(side, delimiter="/")) == [("prefix_changed", "dir/")]
    assert changes(main.diff("side", type="two_dot", max_amount=1)) == [("added", "dir/1")]
    assert changes(side.diff(main)) == [("added", "ours")]


def test_a_merge_brings_changes(lake, main):
    side = lake.branch("side").create("main")
    save(side, "a")
    merged = side.merge_into(main, message="Take a", metadata={"ticket": "7"})
    commit = lake.commit(merged).get_commit()
    assert commit.id == main.get_commit().id
    assert commit.message == "Take a"
    assert listed(main) == ["a"]
    with pytest.raises(BadRequestException):
        side.merge_into(main)


def test_conflict_is_reported_and_resolved_by_a_strategy(lake, main):
    save(main, "a", "one")
    side = lake.branch("side").create("main")
    save(side, "a", "theirs")
    save(main, "a", "ours")
    with pytest.raises(ConflictException) as caught:
        side.merge_into(main)
    assert caught.value.body["conflicts"] == ["a"]
    assert changes(main.diff(side)) == [("conflict", "a")]
    side.merge_into(main, strategy="source-wins")
    assert main.object("a").reader("r").read() == "theirs"


def test_a_commit_is_reverted(main):
    save(main, "a")
    undone = save(main, "b")
    made = main.revert(undone)
    assert made.message == f"Revert {undone.id}"
    assert listed(main) == ["a"]
    with pytest.raises(BadRequestException):
        main.revert(undone)
    with pytest.raises(NotFoundException):
        main.revert("nope")


def test_a_commit_is_cherry_picked(lake, main):
    side = lake.branch("side").create("main")
    save(side, "before")
    picked = save(side, "a")
    made = main.cherry_pick(picked)
    assert made.metadata["cherry-pick-origin"] == picked.id
    assert listed(main) == ["a"]
    with pytest.raises(BadRequestException):
        main.cherry_pick("main~1")
