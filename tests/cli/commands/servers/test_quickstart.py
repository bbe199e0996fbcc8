"""`anabranch quickstart` opens the web interface, names commands that can be run as they are
printed, and ends its server.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import httpx2
import pytest
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
            printed = list(iter(process.stdout.readline, "Serving until Ctrl-C.\n"))
            check_commands(printed, tmp_path)
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        assert process.wait(60) == 0
    assert_stopped(url)

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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.sample(1)
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
