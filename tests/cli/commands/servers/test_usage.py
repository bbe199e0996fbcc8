"""`usage summary`."""

from __future__ import annotations


def test_requests_are_listed_by_month(ana):
    ana.ok("repo", "list")
    report = ana.ok("usage", "summary", "--json").json
    assert report["installation_id"]
    assert report["reports"]
    ran = ana.ok("usage", "summary")
    shown = [line.split("\t") for line in ran.lines]
    assert [month for month, _ in shown] == [
        f"{each['year']}-{each['month']:02}" for each in report["reports"]
    ]
    # the first of these commands was a request, too
    assert all(
        int(count) >= each["count"]
        for (_, count), each in zip(shown, report["reports"], strict=True)
    )
    assert f"installation {report['installation_id']}" in ran.err
