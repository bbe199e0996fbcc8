"""Commits, history, differences and merges over HTTP."""

from __future__ import annotations

import hashlib
import re

import pytest

STAGING = "reference 'main$': reference to staging area with $"


class Repository:
    """Requests that many tests send."""

    def __init__(self, api, name):
        self.api = api
        self.path = f"/repositories/{name}"

    def put(self, path, content=b"x", branch="main"):
        url = f"{self.path}/branches/{branch}/objects"
        assert self.api.post(url, params={"path": path}, content=content).status_code == 201

    def commit(self, message, branch="main", **fields):
        url = f"{self.path}/branches/{branch}/commits"
        return self.api.post(url, json={"message": message} | fields)

    def change(self, path, content=b"x", branch="main"):
        self.put(path, content, branch)
        created = self.commit(f"{path} on {branch}", branch)
        assert created.status_code == 201
        return created.json()["id"]

    def branch(self, name, source="main"):
        body = {"name": name, "source": source}
        assert self.api.post(f"{self.path}/branches", json=body).status_code == 201

    def head(self, branch="main"):
        return self.api.get(f"{self.path}/branches/{branch}").json()["commit_id"]

    def log(self, ref="main", **params):
        response = self.api.get(f"{self.path}/refs/{ref}/commits", params=params)
        assert response.status_code == 200
        return [commit["message"] for commit in response.json()["results"]]

    def diff(self, left, right, **params):
        response = self.api.get(f"{self.path}/refs/{left}/diff/{right}", params=params)
        assert response.status_code == 200
        return response.json()["results"]

    def merge(self, source, destination="main", **body):
        return self.api.post(f"{self.path}/refs/{source}/merge/{destination}", json=body)

    def content(self, path, ref="main"):
        return self.api.get(f"{self.path}/refs/{ref}/objects", params={"path": path}).content


@pytest.fixture
def repo(api, repository):
    return Repository(api, repository)


def test_a_commit_has_the_fields_of_lakefs(repo, api):
    repo.put("a")
    created = repo.commit("abc", metadata={"z": "1", "a": "ü"}, date=1700000000)
    assert created.status_code == 201
    match = re.fullmatch(
        r'\{"committer":"tester","creation_date":1700000000,"generation":2,"id":"([0-9a-f]{64})",'
        r'"message":"abc","meta_range_id":"([0-9a-f]{64})","metadata":\{"a":"ü","z":"1"\},'
        r'"parents":\["([0-9a-f]{64})"\],"version":1\}\n',
        created.text,
    )
    assert match
    for expression in ("main", match[1], match[1][:10], "main~0", "main@"):
        assert api.get(f"{repo.path}/commits/{expression}").text == created.text
    initial = api.get(f"{repo.path}/commits/main~1").json()
    assert initial["id"] == match[3]
    assert (initial["meta_range_id"], initial["parents"], initial["metadata"]) == ("", [], {})


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"message": "x"}, 400, "commit: no changes"),
        ({}, 400, 'Error at "/message": property "message" is missing'),
        ({"message": "x", "date": 2**70}, 400, 'Error at "/date": number must be at most'),
        ({"message": "x", "metadata": {"a": 1}}, 400, "value must be a string"),
        ({"message": "x", "metadata": None}, 400, "Value is not nullable"),
    ],
)
def test_an_invalid_commit_is_refused(repo, body, status, message):
    refused = repo.api.post(f"{repo.path}/branches/main/commits", json=body)
    assert refused.status_code == status
    assert message in refused.json()["message"]


def test_an_empty_commit_needs_allow_empty(repo):
    assert repo.commit("nothing", allow_empty=True).status_code == 201
    assert repo.commit("", allow_empty=True).status_code == 201


def test_an_existing_tree_can_be_committed(repo):
    repo.put("a")
    tree = repo.commit("a").json()["meta_range_id"]
    repo.change("b")
    url = f"{repo.path}/branches/main/commits"
    created = repo.api.post(url, params={"source_metarange": tree}, json={"message": "back"})
    assert created.json()["meta_range_id"] == tree
    for unknown in ("0" * 64, "../../x", "x"):
        asked = {"source_metarange": unknown}
        refused = repo.api.post(url, params=asked, json={"message": "no tree"})
        assert refused.status_code == (404 if unknown.isdigit() else 400), refused.text
    assert repo.api.get(f"{repo.path}/refs/main/commits").json()["results"][0] == created.json()
    repo.put("dirt")
    refused = repo.api.post(url, params={"source_metarange": tree}, json={"message": "back"})
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("commits/nope", 404, "commit not found"),
        ("commits/main~5", 404, "commit not found"),
        ("commits/main^x", 400, None),
        ("commits/main$", 400, f"{STAGING} is not a commit"),
        ("refs/nope/commits", 404, "ref: not found"),
        ("refs/main$/commits", 400, f"ref: {STAGING} is not a commit"),
        ("refs/main/commits?since=yesterday", 400, None),
        ("refs/main/diff/nope", 404, "get commit by ref nope: not found"),
        ("refs/nope/diff/main", 404, "get commit by branch nope: not found"),
        ("refs/nope/diff/other", 404, "get commit by ref other: not found"),
        ("refs/main/commits?after=nope", 404, "from ref: not found"),
        ("refs/main/commits?stop_at=nope", 404, "stop_at: not found"),
        ("refs/main/diff/main?type=one_dot", 400, None),
        ("refs/main/merge/nope", 404, "get commit by ref nope: not found"),
    ],
)
@pytest.mark.sample(7)
def test_an_invalid_expression_is_not_found(repo, path, status, message):
    response = repo.api.get(f"{repo.path}/{path}")
    assert response.status_code == status
    if message is not None:
        assert response.json() == {"message": message}


def test_a_missing_repository_or_branch_is_not_found(repo, api):
    assert api.get("/repositories/no-such/commits/x").json() == {"message": "repository not found"}
    assert repo.commit("x", "nope").status_code == 404


def test_a_log_can_be_limited(repo):
    repo.branch("dev")
    repo.change("a/1")
    repo.change("b")
    repo.change("c", branch="dev")
    assert repo.merge("dev").status_code == 200
    merged = "Merge 'dev' into 'main'"
    initial = "Repository created"
    assert sorted(repo.log()) == sorted([merged, "a/1 on main", "b on main", "c on dev", initial])
    assert repo.log(first_parent="true") == [merged, "b on main", "a/1 on main", initial]
    assert repo.log(objects="b") == ["b on main"]
    assert sorted(repo.log(objects=["b", "c"])) == ["b on main", "c on dev"]
    assert repo.log(prefixes="a/") == ["a/1 on main"]
    assert repo.log("dev~1") == [initial]
    assert repo.log(since="2999-01-01T00:00:00Z") == []
    stop = repo.api.get(f"{repo.path}/commits/main~1").json()["id"]
    assert repo.log(stop_at=stop, first_parent="true") == [merged, "b on main"]
    page = repo.api.get(f"{repo.path}/refs/main/commits", params={"amount": 2}).json()
    assert page["pagination"]["has_more"]
    assert page["pagination"]["next_offset"] == page["results"][-1]["id"]
    rest = repo.log(after=page["pagination"]["next_offset"])
    assert [commit["message"] for commit in page["results"]] + rest == repo.log()
    limited = repo.api.get(
        f"{repo.path}/refs/main/commits", params={"amount": 2, "limit": "true"}
    ).json()
    assert limited["pagination"] == {
        "has_more": False,
        "max_per_page": 1000,
        "next_offset": "",
        "results": 2,
    }


def test_differences_are_listed_in_pages(repo):
    repo.change("kept")
    repo.change("gone")
    repo.branch("dev")
    repo.change("mine")
    repo.put("d/new", b"12345", "dev")
    url = f"{repo.path}/branches/dev/objects"
    assert repo.api.delete(url, params={"path": "gone"}).status_code == 204
    repo.change("kept", b"other", branch="dev")

    def short(items):
        return [(item["type"], item["path"]) for item in items]

    changes = [("added", "d/new"), ("removed", "gone"), ("changed", "kept")]
    assert short(repo.diff("main", "dev")) == changes
    assert short(repo.diff("main", "dev", type="two_dot")) == [*changes, ("removed", "mine")]
    assert short(repo.diff("main", "dev", after="d/new", amount=1)) == changes[1:2]
    assert repo.diff("main", "dev", delimiter="/")[0] == {
        "path": "d/",
        "path_type": "common_prefix",
        "type": "prefix_changed",
    }
    added, removed, _ = repo.diff("main", "dev", include_right_stats="true")
    assert set(added["right"]) == {"checksum", "content_type", "metadata", "mtime"}
    assert added["size_bytes"] == 5
    assert removed["right"]["checksum"] == hashlib.md5(b"x").hexdigest()
    assert removed["size_bytes"] == 1


def test_a_merge_creates_a_commit_with_two_parents(repo, api):
    repo.branch("dev")
    repo.change("theirs", branch="dev")
    main, dev = repo.head(), repo.head("dev")
    base = api.get(f"{repo.path}/refs/dev/merge/main")
    # source and destination come back swapped, as lakeFS has it
    assert base.json() == {
        "base_commit_id": main,
        "destination_commit_id": dev,
        "source_commit_id": main,
    }
    merged = api.post(f"{repo.path}/refs/dev/merge/main")
    assert merged.status_code == 200
    assert merged.text == f'{{"reference":"{repo.head()}"}}\n'
    commit = api.get(f"{repo.path}/commits/main").json()
    assert commit["message"] == "Merge 'dev' into 'main'"
    assert commit["parents"] == [main, dev]
    assert commit["metadata"] == {".lakefs.merge.strategy": "default"}
    again = repo.merge("dev")
    assert (again.status_code, again.json()) == (
        400,
        {"message": "update branch main: no changes"},
    )
    assert repo.merge("dev", allow_empty=True).status_code == 200


def test_a_conflict_names_its_paths(repo):
    repo.change("a", b"0")
    repo.branch("dev")
    for path in ("a", "b"):
        repo.change(path, b"main")
        repo.change(path, b"dev", "dev")
    before = repo.head()
    refused = repo.merge("dev")
    assert refused.status_code == 409
    body = refused.json()
    assert list(body) == ["conflict_count", "conflicts", "has_more", "message", "reference"]
    assert (body["conflict_count"], body["conflicts"], body["reference"]) == (2, ["a", "b"], "")
    assert "conflict" in body["message"]
    assert repo.head() == before
    assert {item["type"] for item in repo.diff("main", "dev")} == {"conflict"}
    solved = repo.merge("dev", strategy="source-wins", message="theirs", metadata={"k": "v"})
    assert solved.status_code == 200
    assert repo.content("a") == b"dev"
    commit = repo.api.get(f"{repo.path}/commits/main").json()
    assert commit["message"] == "theirs"
    assert commit["metadata"] == {".lakefs.merge.strategy": "source-wins", "k": "v"}


def test_the_destination_can_win_and_a_squash_has_one_parent(repo):
    repo.branch("dev")
    repo.change("a", b"main")
    repo.change("a", b"dev", "dev")
    repo.change("b", b"dev", "dev")
    main = repo.head()
    assert repo.merge("dev", strategy="dest-wins", squash_merge=True).status_code == 200
    assert (repo.content("a"), repo.content("b")) == (b"main", b"dev")
    assert repo.api.get(f"{repo.path}/commits/main").json()["parents"] == [main]


@pytest.mark.parametrize(
    ("source", "destination", "body", "status", "message"),
    [
        ("nope", "main", {}, 404, "update branch main: get commit by ref nope: not found"),
        ("dev", "nope", {}, 404, "branch not found"),
        ("main", "main", {}, 400, "update branch main: no changes"),
        ("dev", "main", {"strategy": "best"}, 400, "argument strategy: invalid value"),
        ("dev", "main", {"strategy": 1}, 400, "value must be a string"),
    ],
)
def test_an_invalid_merge_is_refused(repo, source, destination, body, status, message):
    repo.branch("dev")
    repo.change("a", branch="dev")
    refused = repo.merge(source, destination, **body)
    assert refused.status_code == status
    assert message in refused.json()["message"]


def test_a_dirty_destination_is_refused(repo):
    repo.branch("dev")
    repo.change("a", branch="dev")
    repo.put("dirt")
    refused = repo.merge("dev")
    assert refused.status_code == 400
    assert "uncommitted changes (dirty branch)" in refused.json()["message"]


def test_a_log_starts_after_any_reference(repo):
    first = repo.change("a")
    second = repo.change("b")
    repo.branch("dev")
    third = repo.change("c")

    def log(**parameters):
        response = repo.api.get(f"{repo.path}/refs/main/commits", params=parameters)
        return [commit["id"] for commit in response.json()["results"]][:3]

    assert log(after="dev")[0] == first
    assert log(after=second[:12])[0] == first
    assert log(after="main~1")[0] == first
    assert log(since="") == [third, second, first]
    assert log(stop_at="dev") == [third, second]


def test_names_are_checked_before_references_are_resolved(repo):
    for kind, field in (("branches", "source"), ("tags", "ref")):
        body = {"name" if field == "source" else "id": "b d", field: "nope"}
        refused = repo.api.post(f"{repo.path}/{kind}", json=body)
        assert refused.status_code == 400
        assert "invalid value" in refused.json()["message"]
