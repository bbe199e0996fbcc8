"""The usage report: how many requests the server received in each month."""

from __future__ import annotations

import time

import httpx2

REPORT = "/usage-report/summary"


def test_requests_of_this_month_are_counted(api, repository):
    before = api.get(REPORT).json()
    for _ in range(10):
        assert api.get(f"/repositories/{repository}").status_code == 200
    after = api.get(REPORT).json()
    assert after["installation_id"] == before["installation_id"]
    counts = [
        {(each["year"], each["month"]): each["count"] for each in report["reports"]}
        for report in (before, after)
    ]
    now = time.gmtime()
    this_month = now.tm_year, now.tm_mon
    assert counts[1][this_month] >= counts[0].get(this_month, 0) + 10


def test_the_report_is_text_if_the_client_accepts_text(api):
    response = api.get(REPORT, headers={"Accept": "text/plain"})
    assert response.headers["content-type"].startswith("text/plain")
    first, *months = response.text.splitlines()
    assert first == f"installation {api.get(REPORT).json()['installation_id']}"
    assert all(month.split("\t")[1].isdigit() for month in months)


def test_the_report_needs_credentials(server):
    with httpx2.Client(base_url=server.api) as anonymous:
        assert anonymous.get(REPORT).status_code == 401
