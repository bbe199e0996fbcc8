"""lakefs-sdk: tags."""

from __future__ import annotations

import lakefs_sdk
import pytest


def tag(repo, name, ref="main"):
    return repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id=name, ref=ref))


def names(repo, **parameters):
    return [each.id for each in repo.sdk.tags_api.list_tags(repo.id, **parameters).results]


def test_a_tag_stays_where_it_was_set(repo):
    first = repo.save("a")
    made = tag(repo, "v1")
    assert (made.id, made.commit_id) == ("v1", first.id)
    repo.save("b")
    assert repo.sdk.tags_api.get_tag(repo.id, "v1") == made
    assert repo.paths("v1") == ["a"]
    assert repo.head("v1").id == first.id


def test_a_tag_is_set_on_any_commit(repo):
    first, second = repo.save("a"), repo.save("b")
    assert tag(repo, "by-id", first.id).commit_id == first.id
    assert tag(repo, "back", "main~1").commit_id == first.id
    assert tag(repo, "of-tag", "by-id").commit_id == first.id
    assert tag(repo, "newest", "main").commit_id == second.id


def test_a_tag_leaves_out_what_is_uncommitted(repo):
    repo.put("a")
    tag(repo, "v1")
    assert repo.paths("v1") == []


def test_a_tag_is_set_once(repo, refused):
    tag(repo, "v1")
    with refused(409, "tag already exists: not unique"):
        tag(repo, "v1")


def test_a_tag_needs_a_commit(repo, refused):
    with refused(404, "not found"):
        tag(repo, "v1", "nope")
    with refused(400):
        tag(repo, "v1", "main$")
    assert names(repo) == []


def test_a_tag_is_not_named_like_a_branch_or_a_commit(repo, refused):
    with refused(409, "conflict found"):
        tag(repo, "main")
    with refused(409, "conflict found"):
        tag(repo, repo.head().id)


@pytest.mark.parametrize("name", ["v1.2.3", "2026~final", "über", "a@b", "dev:jane-before-v2.3"])
def test_a_name_may_have_many_forms(repo, name):
    head = repo.save("a")
    tag(repo, name)
    assert repo.sdk.tags_api.get_tag(repo.id, name).commit_id == head.id
    assert names(repo) == [name]
    repo.sdk.tags_api.delete_tag(repo.id, name)
    assert names(repo) == []


@pytest.mark.parametrize("name", ["", "@", "a b", "a/b", "a..b", "a^", "a?", "a.", "a.lock", "a["])
def test_a_bad_name_is_refused(repo, refused, name):
    with refused(400):
        tag(repo, name)
    assert names(repo) == []


def test_tags_are_listed_page_by_page(repo):
    for name in ("v2", "v1", "w", "v3"):
        tag(repo, name)
    assert names(repo) == ["v1", "v2", "v3", "w"]
    assert names(repo, prefix="v", after="v1") == ["v2", "v3"]
    page = repo.sdk.tags_api.list_tags(repo.id, amount=3).pagination
    assert (page.has_more, page.next_offset) == (True, "v3")


def test_a_deleted_tag_is_gone(repo, refused):
    tag(repo, "v1")
    repo.sdk.tags_api.delete_tag(repo.id, "v1")
    with refused(404, "tag not found"):
        repo.sdk.tags_api.get_tag(repo.id, "v1")
    with refused(404, "tag not found"):
        repo.sdk.tags_api.delete_tag(repo.id, "v1")
    tag(repo, "v1")
