"""`repo` against a real server."""

from __future__ import annotations

import re
import uuid


def test_from_creation_to_deletion(ana, server):
    name = f"cli-{uuid.uuid4().hex[:12]}"
    made = ana.ok("repo", "create", f"lakefs://{name}", f"{server.storage}{name}", "-d", "trunk")
    assert made.out == f"Created lakefs://{name} in {server.storage}{name}\n"

    row = ana.ok("repo", "list", "--prefix", name).rows
    assert len(row) == 1
    assert row[0][0] == name
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row[0][1])
    assert row[0][2:] == ["trunk", f"{server.storage}{name}"]

    shown = ana.ok("repo", "show", f"lakefs://{name}").lines
    assert shown[0] == f"Repository:        {name}"
    assert shown[2:] == ["Default branch:    trunk", f"Storage namespace: {server.storage}{name}"]
    assert ana.ok("repo", "show", f"lakefs://{name}", "--json").json["default_branch"] == "trunk"

    deleted = ana.ok("repo", "delete", f"lakefs://{name}", "-y")
    assert deleted.out == f"Deleted lakefs://{name}\n"
    assert ana.ok("repo", "list", "--prefix", name, "--json").json == []


def test_read_only(ana, lake, server):
    name = f"{lake.name}-fixed"
    ana.ok("repo", "create", f"lakefs://{name}", f"{server.storage}{name}", "--read-only")
    assert ana.ok("repo", "show", f"lakefs://{name}", "--json").json["read_only"] is True
    refused = ana("branch", "create", f"lakefs://{name}/dev", "-s", "main")
    assert (refused.code, "read-only" in refused.err) == (1, True)


def test_a_table_on_a_terminal(ana, lake, server):
    lines = ana.ok("repo", "list", "--prefix", lake.name, terminal=True).lines
    assert lines[0].split() == [
        "REPOSITORY",
        "CREATED",
        "DEFAULT",
        "BRANCH",
        "STORAGE",
        "NAMESPACE",
    ]
    assert lines[1].startswith(f"{lake.name}  20")
    assert lines[1].endswith(f"  main            {server.storage}{lake.name}")


def test_pages(ana, lake, server):
    names = [f"{lake.name}-{letter}" for letter in "abc"]
    for name in names:
        ana.ok("repo", "create", f"lakefs://{name}", f"{server.storage}{name}")
    ran = ana.ok("repo", "list", "--prefix", f"{lake.name}-", "--amount", "2")
    assert [row[0] for row in ran.rows] == names[:2]
    assert ran.err == f"There is more: add --after '{names[1]}'\n"
    ran = ana.ok("repo", "list", "--prefix", f"{lake.name}-", "--after", names[1])
    assert [row[0] for row in ran.rows] == names[2:]
    assert ran.err == ""


def test_deleting_asks_first(ana, lake):
    question = f"Delete the repository {lake.uri} with all its branches, tags and commits? [y/N] "
    ran = ana("repo", "delete", lake.uri, stdin="no\n", terminal=True)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(question)
    assert "nothing was changed" in ran.err
    assert ana.ok("repo", "delete", lake.uri, stdin="y\n", terminal=True).err == question


def test_errors(ana, lake, server):
    ran = ana("repo", "create", lake.uri, f"{server.storage}{lake.name}-2")
    assert ran.code == 1
    assert "not unique" in ran.err
    assert "hint:  The name is in use: choose another." in ran.err

    ran = ana("repo", "show", f"{lake.uri}x")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "error: repository not found"
    assert ran.err.splitlines()[1].endswith(f"/api/v1/repositories/{lake.name}x (HTTP 404)")
    assert f"Did you mean {lake.name}" in ran.err.splitlines()[2]

    ran = ana("repo", "show", "lakefs://UPPER")
    assert ran.code == 2


def test_wrong_credentials(ana, monkeypatch):
    monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", "wrong")
    ran = ana("repo", "list", "--json")
    assert (ran.code, ran.error["kind"], ran.error["status"]) == (1, "unauthenticated", 401)
    assert "anabranch login" in ran.error["hint"]


def test_deletion_with_the_data(ana, lake, server):
    name, other = f"{lake.name}-purged", f"{lake.name}-other"
    for each in (name, other):
        ana.ok("repo", "create", f"lakefs://{each}", f"{server.storage}{each}")
    ana.ok("fs", "upload", "-s", "-", f"lakefs://{name}/main/a", stdin="bytes")
    ana.ok("fs", "cp", "--shallow", f"lakefs://{name}/main/a", f"lakefs://{other}/main/a")
    refused = ana("repo", "delete", f"lakefs://{name}", "--purge", "-y")
    assert refused.code == 1
    assert f"lakefs://{other} refers to an object in it: a, staged on branch main" in refused.err
    assert ana.ok("fs", "cat", f"lakefs://{name}/main/a").out == "bytes"

    ana.ok("fs", "cp", "--force", f"lakefs://{name}/main/a", f"lakefs://{other}/main/a")
    deleted = ana.ok("repo", "delete", f"lakefs://{name}", "--purge", "-y")
    assert deleted.out == f"Deleted lakefs://{name}: removed 1 object, 5 B\n"
    assert ana.ok("fs", "cat", f"lakefs://{other}/main/a").out == "bytes"


def test_purge_of_a_deleted_repository(ana, lake, server):
    name = f"{lake.name}-left"
    namespace = f"{server.storage}{name}"
    ana.ok("repo", "create", f"lakefs://{name}", namespace)
    ana.ok("repo", "delete", f"lakefs://{name}", "-y")
    listed = ana.ok("repo", "namespaces").rows
    assert [row[:2] for row in listed if row[1] == name] == [[namespace, name]]
    purged = ana.ok("repo", "purge", namespace, "-y", "--json").json
    assert (purged["repository"], purged["objects"], purged["kept"]) == (name, 0, 0)
    assert name not in [row[1] for row in ana.ok("repo", "namespaces").rows]
    again = ana("repo", "purge", namespace, "-y")
    assert (again.code, "no repository was deleted" in again.err) == (1, True)
    ana.ok("repo", "create", f"lakefs://{name}", namespace)
