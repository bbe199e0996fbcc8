"""What a repository takes: by branch, over time, and what garbage collection would free."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx2
import pytest
from playwright.sync_api import expect
from support.repository_calls import call

from anabranch.testing.server import running_server


@pytest.fixture
def grown(repository):
    """Two branches: main with 3,000 bytes, dev with 2,000 more."""
    repository.put("a.bin", b"a" * 1000)
    repository.commit()
    repository.put("b.bin", b"b" * 2000)
    repository.commit()
    repository.branch("dev")
    repository.put("c.bin", b"c" * 2000, branch="dev")
    repository.commit(branch="dev")
    return repository


def test_branches_have_bars_of_what_they_share_and_have_alone(page, grown):
    page.goto(f"/repositories/{grown.name}/storage")
    table = page.get_by_role("table", name="Size by branch")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_have_text(re.compile(r"dev\s*4\.88 KiB\s*1\.95 KiB\s*3"))
    expect(rows.nth(1)).to_have_text(re.compile(r"main\s*2\.93 KiB\s*0 B\s*2"))
    widths = [
        rows.nth(row)
        .locator("rect")
        .evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
        for row in (0, 1)
    ]
    (dev, dev_alone), (main, main_alone) = widths
    assert main / dev == pytest.approx(3000 / 5000, abs=0.01)
    assert dev_alone / dev == pytest.approx(2000 / 5000, abs=0.01)
    assert main_alone == 0
    expect(page.get_by_role("list", name="In total")).to_contain_text("4.88 KiB")


def test_growth_of_a_branch_is_a_line_and_a_table(page, grown):
    page.goto(f"/repositories/{grown.name}/storage?branch=dev")
    plot = page.get_by_role("img", name=re.compile("Size of dev over time.* to 4.88 KiB"))
    expect(plot.locator("circle")).to_have_count(4)
    page.get_by_text("As a table").click()
    sizes = page.get_by_role("table", name="Size of dev at its commits").locator("tbody tr")
    expect(sizes.locator("td:last-child")).to_have_text(["0 B", "0.98 KiB", "2.93 KiB", "4.88 KiB"])
    growth = call(grown, "GET", "storage", branch="dev")["growth"]
    assert [point["total"]["bytes"] for point in growth] == [0, 1000, 3000, 5000]


def test_garbage_is_found_from_the_page_which_says_how_old_the_figure_is(page, grown):
    grown.put("a.bin", b"new")  # what it replaces is committed, and stays
    grown.put("d.bin", b"1")
    grown.put("d.bin", b"2")  # nothing references the first now, but it is too young
    paths = grown.paths()
    page.goto(f"/repositories/{grown.name}/storage")
    total = page.get_by_role("list", name="In total").get_by_role("listitem").nth(2)
    facts = page.get_by_role("region", name="Garbage collection")
    expect(total).to_contain_text("not known")
    facts.get_by_role("button", name="Find out").click()
    expect(total).to_contain_text(re.compile("0 B.*as found just now"))
    expect(facts).to_contain_text("Too young 6 objects")
    expect(facts).to_contain_text("which removed nothing")
    found = call(grown, "GET", "storage")["garbage"]
    assert (found["state"], found["young"], found["candidates"]["objects"]) == ("reported", 6, 0)
    assert grown.paths() == paths
    expect(facts.get_by_role("button", name="Look again")).to_be_enabled()
    facts.get_by_role("link", name="retention rules").click()
    expect(page.get_by_role("button", name="Save rules")).to_be_visible()


@pytest.mark.slow  # a task, as in test_background.py
def test_search_for_garbage_shows_elapsed_time_and_its_failure(page, grown):
    page.goto(f"/repositories/{grown.name}/storage")
    facts = page.get_by_role("region", name="Garbage collection")
    held = []

    def hold(route):
        held.append(route)

    page.route("**/storage/garbage", hold)
    facts.get_by_role("button", name="Find out").click()
    expect(facts).to_contain_text(re.compile(r"\d:(?!00)\d\d"))
    expect(facts.get_by_role("button", name="Find out")).to_be_disabled()
    held[0].abort()
    expect(facts.get_by_role("alert")).to_contain_text("The server does not respond.")
    expect(facts.get_by_role("button", name="Find out")).to_be_enabled()


@pytest.mark.slow  # web/tests/pages/storage; found from the page below
def test_garbage_that_a_run_has_found_is_shown(open_page, tmp_path):
    with running_server(tmp_path / "data") as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            sea = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=sea).is_success
            for size in (3000, 10):  # the second replaces the first, which nothing needs then
                put = api.post(
                    "/repositories/sea/branches/main/objects",
                    params={"path": "a.bin"},
                    content=b"a" * size,
                    headers={"Content-Type": "application/octet-stream"},
                )
                assert put.is_success
        command = [sys.executable, "-m", "anabranch", "gc", "run", "lakefs://sea"]
        options = ["--data", str(tmp_path / "data"), "--grace", "0", "--window", "0"]
        # an object that is not a second old may count as young
        for _ in range(30):
            run = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
            if re.search("dead: +1 object", run.stdout):
                break
        else:
            pytest.fail(run.stdout)
        page = open_page(server)
        page.goto("/repositories/sea/storage")
        facts = page.get_by_role("region", name="Garbage collection")
        expect(facts).to_contain_text("Due 2.93 KiB, 1 object had waited long enough")
        total = page.get_by_role("list", name="In total").get_by_role("listitem").nth(2)
        expect(total).to_contain_text("2.93 KiB")


def test_what_is_kept_for_undo_is_shown(page, grown):
    grown.branch("gone")
    grown.put("big.bin", b"x" * 5000, branch="gone")
    call(grown, "DELETE", "branches/gone")
    page.goto(f"/repositories/{grown.name}/storage")
    kept = page.get_by_role("list", name="In total").get_by_role("listitem").nth(3)
    expect(kept).to_contain_text("4.88 KiB")
    expect(kept).to_contain_text("can be undone, in 1 object")
    kept.get_by_role("link", name="operations").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
