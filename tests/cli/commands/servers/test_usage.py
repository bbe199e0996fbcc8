"""`usage summary`."""

from __future__ import annotations


def test_requests_are_listed_by_month(ana):
    report = ana.ok("usage", "summary", "--json").json
    assert report["installation_id"]
    ran = ana.ok("usage", "summary")
    assert len(ran.lines) == len(report["reports"])
    assert f"installation {report['installation_id']}" in ran.err
