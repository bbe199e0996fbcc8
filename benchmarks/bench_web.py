"""Benchmarks the web interface in Chromium: the first load, and scrolling long lists.

    python benchmarks/bench_web.py                       50,000 objects, 5,000 changes
    python benchmarks/bench_web.py --objects 1000000 --changes 100000

The objects are in one folder of a branch, imported from a listing. The changes are objects that
were removed and not committed. A list is scrolled by the same distance in
each frame, from its beginning to its end, which loads what comes next; then back by jumps. For
each: the frames that Chromium drew, and the longest task of the page's main thread, by the clock
and by its processor time, which other programs of the machine do not lengthen; all from the
browser's own trace (`DrawFrame`, `RunTask`). A frame waits for no longer than the longest task.
Needs `make web` and Chromium.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page
from support.services.chromium import chromium_program, running_chromium

import anabranch
from anabranch.testing.server import Server, running_server

PAGE = 1_000
TIME = pa.timestamp("us", "UTC")
CATEGORIES = (
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "toplevel",
)
STEP_PIXELS = 12_000
VIEWPORT = {"width": 1280, "height": 800}
SCROLL = """async ({ step, name }) => {
  const viewport = document.querySelector(`[aria-label="${name}"] .viewport`);
  const grid = viewport.parentElement;
  const frame = () => new Promise(requestAnimationFrame);
  let rows = 0;
  let before = -1;
  while (viewport.scrollTop !== before || grid.getAttribute("aria-rowcount") === "-1") {
    before = viewport.scrollTop;
    viewport.scrollTop += step;
    await frame();
    await frame();
    const last = grid.querySelector("[data-row]:last-child");
    rows = Math.max(rows, Number(last?.dataset.row ?? 0) + 1);
  }
  for (let at = 20; at > 0; at -= 1) {
    viewport.scrollTop = (viewport.scrollHeight * at) / 21;
    for (let pause = 0; pause < 5; pause += 1) await frame();
  }
  return rows;
}"""


def create(folder: Path, objects: int) -> None:
    """Makes a repository with the objects on `main`, from a listing."""
    listing = folder.with_suffix(".parquet")
    paths = [f"part-{number:09}.parquet" for number in range(objects)]
    columns = {
        "path": paths,
        "physical_address": [f"local://raw/{path}" for path in paths],
        "size": pa.array(range(objects)),
        "checksum": [f"{number:032x}" for number in range(objects)],
        "last_modified": pa.array([1_700_000_000_000_000] * objects).cast(TIME),
    }
    pq.write_table(pa.table(columns), listing)
    with anabranch.open(folder) as lake:
        lake.repositories.create("large", "local://large")
        lake.import_listing("large", "main", listing, verify="none")


def remove(server: Server, changes: int) -> None:
    """Removes objects on a branch, without committing that."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=600) as api:
        branch = {"name": "edited", "source": "main"}
        api.post("/repositories/large/branches", json=branch).raise_for_status()
        after = ""
        for _ in range(-(-changes // PAGE)):
            listed = api.get(
                "/repositories/large/refs/main/objects/ls",
                params={"after": after, "amount": PAGE, "user_metadata": False},
            ).json()
            after = listed["pagination"]["next_offset"]
            removed = {"paths": [item["path"] for item in listed["results"]]}
            url = "/repositories/large/branches/edited/objects/delete"
            api.post(url, json=removed).raise_for_status()


def measure_first_load(page: Page, url: str) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    urls: dict[str, str] = {}
    sizes: dict[str, float] = {}
    session.on(
        "Network.requestWillBeSent",
        lambda event: urls.update({event["requestId"]: event["request"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    start = time.perf_counter()
    page.goto(url)
    page.locator("[data-row] a").first.wait_for()
    wall = time.perf_counter() - start
    page.wait_for_load_state("networkidle")
    code = sum(size for id_, size in sizes.items() if "/api/v1/" not in urls[id_])
    print(f"first load: {wall * 1000:,.0f} ms until rows show, {code / 1000:,.0f} kB of code")
    session.detach()


def measure_scrolling(page: Page, name: str, step: int = STEP_PIXELS) -> None:
    """Prints how smoothly the list of a name scrolls."""
    page.get_by_label(name, exact=True).locator("[data-row]").first.wait_for()
    session = page.context.new_cdp_session(page)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        page.context.browser.start_tracing(page=page, path=trace, categories=list(CATEGORIES))
        start = time.perf_counter()
        rows = page.evaluate(SCROLL, {"step": step, "name": name})
        wall = time.perf_counter() - start
        page.context.browser.stop_tracing()
        events = json.loads(trace.read_bytes())["traceEvents"]
    session.detach()
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event
        for event in events
        if event["name"] in {"RunTask", "ThreadControllerImpl::RunTask"}
        and (event["pid"], event["tid"]) in main
        and "dur" in event
    ]
    frames = sum(event["name"] == "DrawFrame" for event in events)
    longest = max(event["dur"] for event in tasks) / 1000
    processor = max(event.get("tdur", 0) for event in tasks) / 1000
    print(
        f"{name}: {rows:,} rows in {wall:.1f} s, {frames:,} frames; the page's longest task"
        f" took {longest:.0f} ms, {processor:.0f} ms of the processor"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=50_000)
    parser.add_argument("--changes", type=int, default=5_000)
    arguments = parser.parse_args()
    program = chromium_program()
    if program is None:
        print("Chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        create(data, arguments.objects)
        with (
            running_server(data) as server,
            running_chromium(program) as chromium,
            chromium.driven() as browser,
        ):
            remove(server, arguments.changes)
            context = browser.new_context(base_url=server.url, viewport=VIEWPORT)
            context.set_default_timeout(600_000)
            key, secret = server.auth
            keys = {"access_key_id": key, "secret_access_key": secret}
            context.request.post("/api/v1/auth/login", data=keys)
            page = context.new_page()
            measure_first_load(page, "/repositories/large/objects?ref=main")
            measure_scrolling(page, "Objects")
            page.goto("/repositories/large/changes?ref=edited")
            measure_scrolling(page, "Uncommitted changes")


if __name__ == "__main__":
    main()
