"""Uploads: chosen and dropped files, long ones in parts, and a server that restarts meanwhile."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import re

import pytest
from playwright.sync_api import expect
from support.browser.conditions import limit_network
from support.eventually import eventually
from support.session.free_port import free_port

from anabranch.testing.server import running_server

MEBIBYTE = 1024 * 1024


def random_bytes(length, seed=0):
    return random.Random(seed).randbytes(length)


def open_data(page, repository, path=""):
    page.goto(f"/repositories/{repository.name}/objects?ref=main&path={path}")


def choose(page, *files, folder=None):
    page.get_by_role("button", name="Upload").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Files to upload").set_input_files(list(files))
    if folder is not None:
        dialog.get_by_label("Folder", exact=True).fill(folder)
    return dialog.get_by_role("button", name="Upload", exact=True)


def file(name, content, mime_type="text/csv"):
    return {"name": name, "mimeType": mime_type, "buffer": content}


def panel(page):
    return page.get_by_role("region", name="Uploads")


def test_chosen_files_are_uploaded_to_the_folder(page, repository):
    open_data(page, repository, "depth/")
    choose(page, file("a.csv", b"one"), file("b & <b>.csv", b"two")).click()
    expect(panel(page)).to_contain_text("2 files uploaded")
    expect(page.get_by_role("grid").get_by_role("link")).to_have_text(["a.csv", "b & <b>.csv"])
    assert repository.get("depth/b & <b>.csv") == b"two"
    panel(page).get_by_role("link", name="depth/a.csv").click()
    expect(page).to_have_url(re.compile("path=depth%2Fa.csv"))


@pytest.mark.slow  # web/tests/uploads
def test_destination_can_be_changed_and_files_left_out(page, repository):
    open_data(page, repository)
    upload = choose(page, file("a.csv", b"one"), file("b.csv", b"two"), folder="new/place")
    page.get_by_role("button", name="Leave out a.csv").click()
    upload.click()
    expect(panel(page)).to_contain_text("1 file uploaded")
    assert repository.paths() == ["new/place/b.csv"]


def test_dropped_files_and_folders_are_uploaded_once_confirmed(page, repository, tmp_path):
    (tmp_path / "soundings" / "2024").mkdir(parents=True)
    (tmp_path / "soundings" / "2024" / "may.csv").write_bytes(b"in a folder")
    (tmp_path / "top.txt").write_bytes(b"at the top")
    open_data(page, repository)
    expect(page.get_by_text("There are no objects yet")).to_be_visible()
    files = [str(tmp_path / "soundings"), str(tmp_path / "top.txt")]
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": files, "dragOperationsMask": 1}
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 400, "data": data})
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 files")
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(panel(page)).to_contain_text("2 files uploaded")
    assert repository.get("soundings/2024/may.csv") == b"in a folder"
    assert repository.get("top.txt") == b"at the top"


@pytest.mark.slow  # web/tests/uploads/dropped-files.test.ts
def test_files_dragged_from_another_page_are_uploaded(page, repository):
    open_data(page, repository)
    expect(page.get_by_text("There are no objects yet")).to_be_visible()
    transfer = page.evaluate_handle(
        """content => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([content], "dropped.txt", { type: "text/plain" }));
          return transfer;
        }""",
        "dropped content",
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(".zone", event, {"dataTransfer": transfer})
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Upload", exact=True).click()
    expect(panel(page)).to_contain_text("1 file uploaded")
    assert repository.get("dropped.txt") == b"dropped content"


def test_long_file_is_uploaded_in_parts_without_a_change(page, repository, tmp_path):
    content = random_bytes(17 * MEBIBYTE + 7)
    (tmp_path / "long.bin").write_bytes(content)
    parts = []
    page.on(
        "request",
        lambda request: parts.append(request.url) if "/_signed/block" in request.url else None,
    )
    open_data(page, repository)
    choose(page, tmp_path / "long.bin").click()
    expect(panel(page)).to_contain_text("1 file uploaded")
    assert len(parts) == 3
    stored = repository.get("long.bin")
    assert hashlib.sha256(stored).digest() == hashlib.sha256(content).digest()


def test_refused_upload_says_why_and_can_be_tried_again(page, repository):
    repository.put("a.csv")
    repository.commit()
    rules = [{"pattern": "main"}]
    url = f"{repository.path}/settings/branch_protection"
    assert repository.api.put(url, json=rules).is_success
    open_data(page, repository)
    choose(page, file("b.csv", b"two")).click()
    expect(panel(page)).to_contain_text("cannot write to protected branch")
    assert repository.api.put(url, json=[]).is_success
    panel(page).get_by_role("button", name="Upload b.csv again").click()
    expect(panel(page)).to_contain_text("1 file uploaded")
    assert repository.get("b.csv") == b"two"


@pytest.mark.parametrize("in_parts", [True, False], ids=["in parts", "whole"])
@pytest.mark.sample(1)
def test_server_that_restarts_during_an_upload_loses_nothing(open_page, tmp_path, in_parts):
    content = random_bytes(32 * MEBIBYTE, seed=1)
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": str(in_parts).lower()}
    address = f"127.0.0.1:{free_port()}"
    with running_server(tmp_path / "data", listen=address, env=env) as server:
        page = open_page(server)
        _create(page, server, "restarted")
        page.goto("/repositories/restarted/objects?ref=main")
        limit_network(page, upload_bytes_per_second=4 * MEBIBYTE)
        (tmp_path / "long.bin").write_bytes(content)
        choose(page, tmp_path / "long.bin").click()
        sent = page.get_by_role("progressbar", name="All uploads")
        eventually(lambda: float(sent.get_attribute("value") or 0) > 10 * MEBIBYTE)
        server.process.kill()
        server.process.wait()
        expect(panel(page)).to_contain_text("trying again")
        limit_network(page)
    with running_server(tmp_path / "data", listen=address, env=env) as server:
        expect(panel(page)).to_contain_text("1 file uploaded")
        response = page.context.request.get(
            "/api/v1/repositories/restarted/refs/main/objects", params={"path": "long.bin"}
        )
        assert hashlib.sha256(response.body()).digest() == hashlib.sha256(content).digest()


def _create(page, server, name):
    key, secret = server.auth
    authorization = base64.b64encode(f"{key}:{secret}".encode()).decode()
    response = page.context.request.post(
        "/api/v1/repositories",
        data={"name": name, "storage_namespace": f"local://{name}"},
        headers={"Authorization": f"Basic {authorization}"},
    )
    assert response.ok, response.text()


def test_cancelled_upload_leaves_nothing(page, repository, tmp_path):
    (tmp_path / "long.bin").write_bytes(os.urandom(20 * MEBIBYTE))
    open_data(page, repository)
    limit_network(page, upload_bytes_per_second=MEBIBYTE)
    choose(page, tmp_path / "long.bin").click()
    sent = page.get_by_role("progressbar", name="All uploads")
    eventually(lambda: float(sent.get_attribute("value") or 0) > 0)
    panel(page).get_by_role("button", name="Cancel", exact=True).click()
    expect(panel(page)).to_contain_text("Cancelled")
    assert repository.paths() == []
