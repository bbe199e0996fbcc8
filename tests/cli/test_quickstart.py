"""`anabranch quickstart` tells where the web interface is, and opens it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import httpx2
from support.eventually import eventually


def test_address_comes_first_and_is_opened_once_there_is_data_unless_it_exits(tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >"{opened}.new" && mv "{opened}.new" "{opened}"\n')
    browser.chmod(0o755)
    options = ["--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", "anabranch", "quickstart", *options],
        env=os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":99"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            first = process.stdout.readline()
            url = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+) in a browser, .*\n", first)[1]
            key, secret = (process.stdout.readline().split()[-1] for _ in range(2))
            eventually(opened.exists)
            assert opened.read_text().strip() == url
            listed = httpx2.get(f"{url}/api/v1/repositories", auth=(key, secret)).json()
            assert [repository["id"] for repository in listed["results"]] == ["quickstart"]
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        assert process.wait(60) == 0

    opened.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "quickstart", *options, "--exit"],
        env=os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":99"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Open http://127.0.0.1:")
    assert not opened.exists()
