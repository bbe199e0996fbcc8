"""Takes the pictures of the web interface that the documentation shows, into docs/images.

    make screenshots

The pages show the flights example and what is added to it here, on a server of its own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import httpx2
import pyarrow as pa
from playwright.sync_api import Browser, Page
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.types import IntegerType
from support.services.chromium import chromium_program, running_chromium

from anabranch.examples.flights import REPOSITORY, FlightsExample, run_steps
from anabranch.testing.server import Server, running_server

FOLDER = Path(__file__).parent.parent / "docs" / "images"
VIEWPORT = {"width": 1200, "height": 720}
PAGES = f"/repositories/{REPOSITORY}"
BRANCH = "weather-of-october"
SAMPLE = "lakes-and-rivers"
STATIONS = "stations"


class Picture(NamedTuple):
    """A page to show; `click` is a button to press first, `scheme` a theme."""

    name: str
    path: str
    click: str = ""
    scheme: str = "light"


PICTURES = (
    Picture("sign-in", "/auth/login"),
    Picture("repositories", "/repositories"),
    Picture("data", f"/repositories/{SAMPLE}/objects?ref=main"),
    Picture("data-dark", f"{PAGES}/objects?ref=main&path=flights/", scheme="dark"),
    Picture("object", f"{PAGES}/object?ref=main&path=flights/month=01/flights.parquet"),
    Picture("changes", f"{PAGES}/changes?ref={BRANCH}"),
    Picture("commit", f"{PAGES}/changes?ref={BRANCH}", click="Commit"),
    Picture("compare", f"{PAGES}/compare?ref=main~1&compare=main"),
    Picture(
        "table",
        f"{PAGES}/table?ref={STATIONS}&path=_tables/weather/stations/table.json"
        f"&tab=compare&compare=more-{STATIONS}",
    ),
    Picture("history", f"{PAGES}/commits?ref=main"),
    Picture("pull-request", PAGES + "/pulls/{pull}"),
    Picture("storage", f"{PAGES}/storage"),
    Picture("actions", f"{PAGES}/actions"),
    Picture("administration", "/auth/users"),
)


def add_work(server: Server) -> str:
    """Adds to the example what the pages of work in progress show, and returns the id of a pull
    request.
    """
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        sample = {"name": SAMPLE, "storage_namespace": f"local://{SAMPLE}", "sample_data": True}
        _post(api, "/repositories", sample)
        url = f"/repositories/{REPOSITORY}"
        _post(api, f"{url}/branches", {"name": BRANCH, "source": "main"})
        _put(api, f"{url}/branches/{BRANCH}", "airports.csv", "faa,name\nEWR,Newark\nJFK,Kennedy\n")
        _post(api, f"{url}/branches/{BRANCH}/commits", {"message": "Add the names of airports"})
        pull = {
            "title": "Names of airports and the weather of October",
            "description": "The **airports** come first; the weather follows station by station.",
            "source_branch": BRANCH,
            "destination_branch": "main",
        }
        pull_id = _post(api, f"{url}/pulls", pull)["id"]
        rows = "".join(f"2013-10-{day:02},{40 + day},{day % 7}\n" for day in range(1, 32))
        for station in ("EWR", "JFK", "LGA"):
            _put(api, f"{url}/branches/{BRANCH}", f"weather/month=10/{station}.csv", rows)
        removed = {"path": "flights/month=12/flights.parquet"}
        api.delete(f"{url}/branches/{BRANCH}/objects", params=removed).raise_for_status()
    return pull_id


def add_tables(server: Server) -> None:
    """Adds a table of the Iceberg catalog on a branch, and on another as it differs."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        branches = f"/repositories/{REPOSITORY}/branches"
        _post(api, branches, {"name": STATIONS, "source": "main"})
        catalog = _catalog(server, STATIONS)
        catalog.create_namespace("weather")
        rows = _stations(EWR="Newark", JFK="Kennedy", LGA="LaGuardia")
        catalog.create_table("weather.stations", rows.schema).append(rows)
        _post(api, branches, {"name": f"more-{STATIONS}", "source": STATIONS})
    table = _catalog(server, f"more-{STATIONS}").load_table("weather.stations")
    table.overwrite(_stations(EWR="Newark Liberty", JFK="Kennedy", SWF="Stewart"))
    with table.update_schema() as update:
        update.add_column("height", IntegerType())


def _catalog(server: Server, branch: str) -> Catalog:
    return load_catalog(
        branch,
        type="rest",
        uri=f"{server.url}/iceberg",
        warehouse=f"{REPOSITORY}/{branch}",
        credential=":".join(server.auth),
        **{"oauth2-server-uri": f"{server.url}/iceberg/v1/oauth/tokens"},
    )


def _stations(**names: str) -> pa.Table:
    return pa.table({"faa": list(names), "name": list(names.values())})


def _post(api: httpx2.Client, url: str, body: dict[str, object]) -> dict[str, str]:
    response = api.post(url, json=body).raise_for_status()
    is_json = response.headers.get("Content-Type", "").startswith("application/json")
    created: dict[str, str] = response.json() if is_json else {}
    return created


def _put(api: httpx2.Client, branch: str, path: str, content: str) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    url = f"{branch}/objects"
    api.post(url, params={"path": path}, content=content, headers=headers).raise_for_status()


def take(page: Page, picture: Picture, pull: str, folder: Path) -> None:
    """Writes one picture."""
    page.emulate_media(color_scheme=picture.scheme)
    page.goto(picture.path.format(pull=pull))
    page.locator("h1").first.wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    if picture.click:
        page.get_by_role("button", name=picture.click, exact=True).first.click()
        page.locator("dialog").first.wait_for()
    page.evaluate("document.fonts.ready")
    page.screenshot(path=folder / f"{picture.name}.png", animations="disabled", caret="hide")


def take_all(browser: Browser, server: Server, pull: str, folder: Path) -> None:
    """Writes all pictures, the first before anybody has signed in."""
    context = browser.new_context(base_url=server.url, viewport=VIEWPORT)
    page = context.new_page()
    for picture in PICTURES:
        take(page, picture, pull, folder)
        if picture.path == "/auth/login":
            key, secret = server.auth
            keys = {"access_key_id": key, "secret_access_key": secret}
            context.request.post("/api/v1/auth/login", data=keys)


def take_pictures(folder: Path) -> None:
    """Writes all pictures to a folder; raises SystemExit if there is no Chromium."""
    program = chromium_program()
    if program is None:
        raise SystemExit("Chromium is not installed")
    with (
        tempfile.TemporaryDirectory() as data,
        running_server(data) as server,
        running_chromium(program) as chromium,
        chromium.driven() as browser,
    ):
        run_steps(FlightsExample(server.url, *server.auth), lambda _line, _seconds: None)
        add_tables(server)
        take_all(browser, server, add_work(server), folder)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    take_pictures(FOLDER)
