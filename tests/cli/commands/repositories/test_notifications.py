"""`notifications` against a real server."""

from __future__ import annotations

URL = "https://chat.example/cedfca83"


def test_addresses_are_added_listed_and_deleted(ana, lake):
    added = ana.ok("notifications", "add", lake.uri, URL, "--format", "slack", "--json").json
    ran = ana.ok(
        *("notifications", "add", lake.uri, "-"),
        *("--event", "reviewed", "--event", "hook_failed"),
        stdin=f"{URL}\n".encode(),
    )
    assert ran.out.endswith(": notifications to chat.example\n")
    listed = ana.ok("notifications", "list", lake.uri)
    assert [row[1:] for row in listed.rows] == [
        ["chat.example", "slack", "all"],
        ["chat.example", "json", "reviewed, hook_failed"],
    ]
    assert "cedfca83" not in listed.out
    assert (
        ana.ok("notifications", "delete", lake.uri, added["id"]).out == f"Deleted {added['id']}\n"
    )
    again = ana("notifications", "delete", lake.uri, added["id"])
    assert (again.code, again.err.splitlines()[0]) == (1, "error: notification not found")
    assert ana("notifications", "add", lake.uri, URL, "--event", "pushed").code == 2
    refused = ana("notifications", "add", lake.uri, "ftp://chat.example/cedfca83")
    assert refused.code == 1
    assert "cedfca83" not in refused.err
