"""`anabranch quickstart` opens the web interface, names commands that can be run as they are
printed, and ends its server.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import parse_qsl

import httpx2
import pytest
from support.eventually import eventually


@pytest.fixture
def browser(tmp_path):
    """A program that writes the address that it is to open into `opened` beside it."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >"{opened}.new" && mv "{opened}.new" "{opened}"\n')
    browser.chmod(0o755)
    return browser


@pytest.mark.slow
def test_address_comes_first_and_is_opened_once_there_is_data(browser, tmp_path):
    opened = browser.with_name("opened")
    options = ["--data", "data", "--listen", "127.0.0.1:0"]
    with in_a_terminal(options, browser, tmp_path) as (process, output):
        first = output.readline()
        url = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+) in a browser, .*\n", first)[1]
        key, secret = (output.readline().split()[-1] for _ in range(2))
        eventually(opened.exists)
        listed = httpx2.get(f"{url}/api/v1/repositories", auth=(key, secret)).json()
        assert [repository["id"] for repository in listed["results"]] == ["quickstart"]
        printed = list(iter(output.readline, "Serving until Ctrl-C.\n"))
        assert any(f"everything in {tmp_path / 'data'}." in line for line in printed)
        check_commands(printed, tmp_path)
        (link,) = (line.strip() for line in printed if "/auth/link#" in line)
        assert sign_in(url, link) == sign_in(url, opened.read_text().strip()) == "quickstart"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert_stopped(url)


@pytest.mark.slow
def test_without_a_terminal_it_opens_no_browser_and_prints_the_link(browser, tmp_path):
    options = ["--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", "anabranch", "quickstart", *options],
        env=os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":99"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        url = process.stdout.readline().split()[1]
        printed = list(iter(process.stdout.readline, "Serving until Ctrl-C.\n"))
        (link,) = (line.strip() for line in printed if "/auth/link#" in line)
        assert sign_in(url, link) == "quickstart"
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(60) == 0
    assert not browser.with_name("opened").exists()


@contextmanager
def in_a_terminal(options, browser, folder):
    """Runs the command in a terminal, and gives its process and its output."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "anabranch", "quickstart", *options],
        env=os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":99"},
        cwd=folder,
        stdout=terminal,
    )
    os.close(terminal)
    try:
        with os.fdopen(master, encoding="utf-8", newline=None) as output:
            yield process, output
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)


def sign_in(url, link):
    """Returns the name of the user whom a link signs in, as the page does that it leads to."""
    page, _, fragment = link.partition("#")
    assert page == f"{url}/auth/link"
    fields = dict(parse_qsl(fragment))
    assert fields.pop("next") == "/repositories/quickstart/objects"
    body = {"username": fields.pop("user"), **fields}
    with httpx2.Client() as client:
        used = client.post(f"{url}/api/v1/auth/links/use", json=body)
        assert (used.status_code, used.content) == (204, b"")
        assert client.post(f"{url}/api/v1/auth/links/use", json=body).status_code == 400
        return client.get(f"{url}/api/v1/user").json()["user"]["id"]


@pytest.mark.slow
def test_it_opens_no_browser_if_it_exits(browser, tmp_path):
    options = ["--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--exit"]
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "quickstart", *options],
        env=os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":99"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Open http://127.0.0.1:")
    assert not browser.with_name("opened").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_its_server_ends_with_it(tmp_path, number):
    options = ["--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--no-open"]
    with subprocess.Popen(
        [sys.executable, "-m", "anabranch", "quickstart", *options],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        url = process.stdout.readline().split()[1]
        assert httpx2.get(f"{url}/_health").status_code == 200
        process.send_signal(number)
        process.stdout.read()
        assert process.wait(60) in (0, 130)
    assert_stopped(url)


def check_commands(printed, folder):
    """Runs the commands in the order in which they are printed, as a new shell does."""
    commands = [line for line in printed if re.match(r"  (export|\S*/anabranch|\S+ -m) ", line)]
    assert [line.split()[0] == "export" for line in commands] == [True] * 3 + [False] * 3
    ran = subprocess.run(
        ["/bin/sh", "-eux", "-c", "".join(commands)],
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Merge 'only-newark' into 'main'" in ran.stdout
    assert "flights/month=12/flights.parquet" in ran.stdout


def assert_stopped(url):
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)
