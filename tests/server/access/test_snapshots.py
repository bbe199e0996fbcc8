"""Snapshots and reads of many objects of users who may read a part of a repository."""

from __future__ import annotations

import random
from contextlib import contextmanager

import pytest

import anabranch
from anabranch.errors import Denied, NotFound
from anabranch.model.objects.batch import MAX_BATCH_BYTES, MAX_BATCH_OBJECTS

from .conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"
REPOSITORY = "arn:lakefs:fs:::repository/{}"
NAMES = ["a", "b", "secret", "secret-2", "ä", "x.csv"]
SEE = ("fs:ListObjects", "fs:ReadRepository", "fs:ReadCommit")


def random_paths(seed, count=150):
    chance = random.Random(seed)
    made = {"/".join(chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(count)}
    return sorted(made, key=str.encode)


@contextmanager
def lake_of(team, member, folder):
    with anabranch.connect(team.server.url, *member.keys, cache_folder=folder) as lake:
        yield lake


def shown(stat):
    return stat.path, stat.physical_address, stat.entry.size, stat.entry.checksum


def head(team, repository):
    return team.admin.api.get(f"/repositories/{repository}/commits/main").json()


def contents(api, repository, reference, body):
    return api.post(f"/repositories/{repository}/refs/{reference}/objects/contents", json=body)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
def test_a_snapshot_has_what_the_user_may_read(team, tmp_path, seed):
    paths = random_paths(seed)
    repository = team.repository(*paths)
    chance = random.Random(seed)
    hidden = chance.sample(paths, len(paths) // 4)
    member = team.member(
        allow(*SEE),
        allow("fs:ReadObject", on=OBJECT.format(repository, "*")),
        deny("fs:ReadObject", on=OBJECT.format(repository, "secret/*")),
        deny("fs:ReadObject", on=[OBJECT.format(repository, path) for path in hidden]),
    )
    readable = [path for path in paths if path not in hidden and not path.startswith("secret/")]
    assert 0 < len(readable) < len(paths)
    with lake_of(team, team.admin, tmp_path) as lake:  # leaves all tables in the cache
        assert [*lake.snapshot(repository, "main").paths()] == paths
    with lake_of(team, member, tmp_path) as lake:
        snapshot = lake.snapshot(repository, "main")
        assert (len(snapshot), [*snapshot.paths()]) == (len(readable), readable)
        listed = [item for page in lake.objects.pages(repository, "main") for item in page.items]
        assert [shown(stat) for stat in snapshot.list()] == [shown(stat) for stat in listed]
        for prefix in ("", "a", "a/", "secret"):
            pages = lake.objects.pages(repository, "main", prefix=prefix, delimiter="/")
            expected = [item.path for page in pages for item in page.items]
            assert [item.path for item in snapshot.list(prefix, delimiter="/")] == expected
        assert [*snapshot.read_many(readable)] == [path.encode() for path in readable]
        for path in {*paths} - {*readable}:
            assert path not in snapshot
            with pytest.raises(NotFound):
                snapshot.read(path)


def test_nothing_of_what_is_hidden_is_sent(team):
    repository = team.repository("open/a", "secret/b")
    other = team.repository("elsewhere/c")
    member = team.member(
        allow(*SEE),
        allow("fs:ReadObject", on=OBJECT.format(repository, "open/*")),
        allow("fs:ReadObject", on=OBJECT.format(other, "*")),
    )
    place = f"/repositories/{repository}"
    found = member.api.get(f"{place}/refs/main/snapshot")
    assert (found.status_code, found.json()["tables"]) == (200, None)
    assert b"secret" not in found.content
    tree = head(team, repository)["meta_range_id"]
    table = team.admin.api.get(f"{place}/metadata/object/meta_range/{tree}")
    assert table.status_code == 200
    for kind in ("range", "meta_range"):
        assert member.api.get(f"{place}/metadata/object/{kind}/{tree}").status_code == 401
        # the id of another repository's table, asked of one that the user may read whole
        foreign = member.api.get(f"/repositories/{other}/metadata/object/{kind}/{tree}")
        assert foreign.status_code == 404
    for paths in (["secret/b"], ["open/a", "secret/b"], ["secret/b", "open/a"], ["secret/none"]):
        refused = contents(member.api, repository, "main", {"paths": paths})
        assert refused.status_code == 401
        assert refused.headers["content-type"].startswith("application/json")
    # as at a path that does not exist: whether a hidden object is there does not show
    answers = [
        contents(member.api, repository, "main", {"paths": [path]}).json()["message"]
        for path in ("secret/b", "secret/none")
    ]
    assert answers[0].replace("/b", "") == answers[1].replace("/none", "")
    assert contents(member.api, repository, "main", {"paths": ["open/a"]}).status_code == 200


def test_a_snapshot_needs_the_rights_to_list_and_to_read_commits(team, tmp_path):
    repository = team.repository("a")
    for actions in (("fs:ListObjects",), ("fs:ReadCommit",), ("fs:ReadObject",)):
        member = team.member(allow(*actions))
        with lake_of(team, member, tmp_path) as lake, pytest.raises(Denied):
            lake.snapshot(repository, "main")
    member = team.member(allow("fs:ListObjects", "fs:ReadCommit"))  # and may read nothing
    with lake_of(team, member, tmp_path) as lake:
        assert len(lake.snapshot(repository, "main")) == 0
    with lake_of(team, team.admin, tmp_path) as lake:
        lake.snapshot(repository, "main")
    listing = team.member(allow("fs:ListObjects", "fs:ReadCommit", "fs:ReadObject"))
    with lake_of(team, listing, tmp_path) as lake:  # without the right to read tables
        assert [*lake.snapshot(repository, "main").paths()] == ["a"]


def test_bytes_are_read_with_the_rights_that_the_user_has_by_now(team, tmp_path):
    repository = team.repository("a", "b")
    member = team.member(allow(*SEE), allow("fs:ReadObject", on=OBJECT.format(repository, "*")))
    with lake_of(team, member, tmp_path) as lake:
        snapshot = lake.snapshot(repository, "main")
        assert snapshot.read("a") == b"a"
        policy = f"Policy{member.name.removeprefix('user-')}"
        statements = [allow(*SEE), allow("fs:ReadObject", on=OBJECT.format(repository, "a"))]
        body = {"id": policy, "statement": statements}
        assert team.admin.api.put(f"/auth/policies/{policy}", json=body).is_success
        assert snapshot.read("a") == b"a"
        for read in (snapshot.read, lambda path: [*snapshot.read_many([path])]):
            with pytest.raises(Denied):
                read("b")
        assert [*lake.snapshot(repository, "main").paths()] == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"paths": []},
        {"paths": "a"},
        {"paths": [1]},
        {"paths": [None]},
        {"paths": [""]},
        {"paths": ["a" * 1025]},
        {"paths": ["a"], "path": "b"},
        {"paths": ["a"], "ref": "main"},
        {"paths": ["a"] * (MAX_BATCH_OBJECTS + 1)},
        ["a"],
        None,
    ],
)
def test_bad_requests_for_many_objects_are_refused(team, body):
    repository = team.repository("a")
    refused = contents(team.admin.api, repository, "main", body)
    assert refused.status_code == 400
    assert refused.json()["message"]


@pytest.mark.slow
def test_objects_that_are_too_large_together_are_refused(team):
    repository = team.repository()
    place = f"/repositories/{repository}/branches/main/objects"
    content = bytes(MAX_BATCH_BYTES // 2)
    for path in ("a", "b", "c"):
        assert team.admin.api.post(place, params={"path": path}, content=content).is_success
    assert contents(team.admin.api, repository, "main", {"paths": ["a", "b"]}).is_success
    for paths in (["a", "b", "c"], ["a"] * 3, ["a"] * MAX_BATCH_OBJECTS):
        refused = contents(team.admin.api, repository, "main", {"paths": paths})
        assert refused.status_code == 400
        assert refused.headers["x-anabranch-kind"] == "batch_too_large"
    for reference, status in (("nothing", 404), ("main$", 200), ("main@", 200), ("a b", 400)):
        answer = contents(team.admin.api, repository, reference, {"paths": ["d"]})
        assert answer.status_code == status
        if status == 200:
            assert answer.content == b"\x01" + bytes(8)
