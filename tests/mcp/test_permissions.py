"""Tools show a user what the REST API shows: nothing of a prefix that the user may not read."""

from __future__ import annotations

import httpx2
import pytest
from mcp import MCPError

SECRET = "77123-confidential"
ROWS = f"id,name\n1,{SECRET}\n".encode()
CHANGED = f"id,name\n1,{SECRET}-again\n".encode()
FS = "arn:lakefs:fs:::"


@pytest.fixture(scope="module")
def lake(new_repository, new_user, api):
    """A repository with a prefix that a user may not read, and the user's key pair."""
    name = new_repository(
        {"open/a.csv": b"id,name\n1,ada\n", "hidden/salaries.csv": ROWS}, "both of them"
    )
    assert api.post(
        f"/repositories/{name}/branches", json={"name": "fix", "source": "main"}
    ).is_success
    objects = {"open/a.csv": b"id,name\n1,bea\n", "hidden/salaries.csv": CHANGED}
    new_repository.put(name, "fix", objects, "changed")
    staged = api.post(
        f"/repositories/{name}/branches/fix/objects",
        params={"path": "hidden/staged.csv"},
        content=ROWS,
    )
    assert staged.is_success
    other = new_repository({"a.csv": ROWS}, "another one")
    where = f"{FS}repository/{name}"
    reading = ["fs:ListObjects", "fs:ListCommits", "fs:ListBranches", "fs:ReadRepository"]
    pair = new_user(
        {"effect": "allow", "action": [*reading, "fs:ReadBranch"], "resource": where},
        {"effect": "allow", "action": ["fs:ReadBranch"], "resource": f"{where}/branch/*"},
        {"effect": "allow", "action": ["fs:ReadObject"], "resource": f"{where}/object/open/*"},
    )
    return name, other, pair


@pytest.fixture(scope="module", params=["stdio", "http", "http with a token"])
def sessions(request, connect, server, lake):
    """Sessions of the administrator and of the user."""
    _, _, pair = lake

    def opened(keys):
        if request.param == "stdio":
            return connect["stdio"](
                ANABRANCH_SERVER=server.url,
                ANABRANCH_ACCESS_KEY_ID=keys[0],
                ANABRANCH_SECRET_ACCESS_KEY=keys[1],
            )
        if request.param == "http":
            return connect["http"](server, keys)
        body = {"access_key_id": keys[0], "secret_access_key": keys[1]}
        token = httpx2.post(f"{server.api}/auth/login", json=body).json()["token"]
        return connect["http"](server, token)

    with opened(server.auth) as admin, opened(pair) as user:
        yield admin, user


def calls(name):
    """Calls that show the hidden prefix to those who may read it."""
    path = "hidden/salaries.csv"
    address = f"lakefs://{name}/main/{path}"
    return [
        ("list_objects", {"repository": name}),
        ("list_objects", {"repository": name, "recursive": True}),
        ("list_objects", {"repository": name, "prefix": "hidden/"}),
        ("read_object", {"repository": name, "path": path}),
        ("preview_table", {"repository": name, "path": path}),
        ("query", {"repository": name, "sql": f"SELECT * FROM '{address}'"}),
        ("query", {"repository": name, "sql": f"SELECT * FROM 'lakefs://{name}/main/*/*.csv'"}),
        ("query", {"repository": name, "sql": f"SELECT * FROM objects('{name}', 'main')"}),
        ("diff", {"repository": name, "left": "main", "right": "fix"}),
        ("diff", {"repository": name, "left": "fix", "right": "main", "two_dot": True}),
        ("diff", {"repository": name, "left": "fix"}),
        ("diff_rows", {"repository": name, "left": "main", "right": "fix", "path": path}),
        ("blame", {"repository": name}),
        ("blame", {"repository": name, "recursive": True}),
        ("log", {"repository": name, "path": path}),
        ("log", {"repository": name, "prefix": "hidden/"}),
    ]


@pytest.mark.sample(1)
def test_hidden_paths_and_rows_are_in_no_result(sessions, lake):
    admin, user = sessions
    name, _, _ = lake
    for tool, arguments in calls(name):
        seen = admin.call(tool, **arguments)
        assert not seen.is_error, seen.whole
        if tool != "log":
            assert "hidden/" in seen.whole or SECRET in seen.whole, (tool, arguments)
        shown = user.call(tool, **arguments)
        assert SECRET not in shown.whole, (tool, arguments)
        # an error may name what was asked for
        named = "hidden/staged" if shown.is_error else "hidden/"
        assert named not in shown.whole, (tool, arguments)
        if tool == "log":
            assert shown.error["kind"] == "insufficient_permissions"


def test_what_the_user_may_read_is_shown(sessions, lake):
    _, user = sessions
    name, _, _ = lake
    assert user.call("read_object", repository=name, path="open/a.csv").text == "id,name\n1,ada\n"
    changed = user.results("diff", repository=name, left="main", right="fix")
    assert [each["path"] for each in changed] == ["open/a.csv"]
    assert len(user.results("log", repository=name)) == 2


def test_other_repositories_are_neither_listed_nor_read(sessions, lake):
    admin, user = sessions
    name, other, _ = lake
    assert {name, other} <= {each["id"] for each in admin.results("list_repositories")}
    assert [each["id"] for each in user.results("list_repositories")] == [name]
    listed = user.ask("list_resources").resources
    assert [each.name for each in listed] == [name]
    for tool in ("list_references", "list_objects", "log", "blame", "list_operations"):
        error = user.call(tool, repository=other).error
        assert error["kind"] == "insufficient_permissions", tool
        assert error["hint"]
    sql = f"SELECT * FROM 'lakefs://{other}/main/a.csv'"
    assert SECRET not in user.call("query", repository=name, sql=sql).whole


def test_resources_obey_the_same_permissions(sessions, lake):
    admin, user = sessions
    name, _, _ = lake
    for key in ("hidden/salaries.csv", "hidden/", ""):
        uri = f"lakefs://{name}/main/{key}"
        (content,) = admin.ask("read_resource", uri).contents
        assert "hidden/" in content.text or SECRET in content.text
        if key:
            continue
        (content,) = user.ask("read_resource", uri).contents
        assert '"open/"' in content.text
        assert "hidden/" not in content.text
    with pytest.raises(MCPError) as refused:
        user.ask("read_resource", f"lakefs://{name}/main/hidden/salaries.csv")
    assert refused.value.data["kind"] == "insufficient_permissions"


def test_checks_and_operations_need_their_own_permissions(sessions, lake):
    _, user = sessions
    name, _, _ = lake
    assert user.call("check_results", repository=name).error["kind"] == "insufficient_permissions"
    # ListPullRequests was not granted
    assert user.call("pull_requests", repository=name).error["kind"] == "insufficient_permissions"
