"""The way without containers: units, settings and commands of docs/deploy.md, as far as they can be
tried without systemd running.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from support.services.nginx import nginx_program, running_nginx
from support.session.forked_python import forked_python
from support.session.free_port import free_port

from anabranch.server.config.field import declared, variable
from anabranch.server.config.loader import load_settings

PROJECT = Path(__file__).parents[2]
DEPLOY = PROJECT / "deploy"
PAGE = (PROJECT / "docs" / "deploy.md").read_text("utf-8")
SECTION = PAGE.partition("## Without containers\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
UNITS = ("anabranch@.service", "anabranch-migrate.service")
PROGRAM = "/opt/anabranch/bin/anabranch"
ENVIRONMENT = "/etc/anabranch/environment"
SITE = "/etc/nginx/sites-available/anabranch"


def unit(name):
    """Returns the keys and values of a unit, lines joined as systemd joins them."""
    text = (DEPLOY / name).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def variables(text):
    """Returns the variables of a file of settings as systemd reads it."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def block(word):
    (found,) = [block for block in BLOCKS if word in block]
    return found


def command(block, word):
    """Returns the command of a block that begins with a word, all its lines."""
    (found,) = re.findall(rf"^{word} (?:.*\\\n)*.*\n", block, re.MULTILINE)
    return found


def run(script):
    ran = subprocess.run(
        ["sh", "-euc", script], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def environment(tmp_path):
    """The file of settings, its secrets filled in by the page's own command."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path / "environment"
    path.write_text((DEPLOY / "environment").read_text("utf-8"))
    fill = command(block("CREATE ROLE"), "sed").replace(ENVIRONMENT, str(path))
    run(f"password=secret\n{fill}")
    return path


@pytest.mark.parametrize("name", UNITS)
def test_units_are_valid(name, tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    text = (DEPLOY / name).read_text("utf-8")
    assert text.count(PROGRAM) == 1
    path = tmp_path / name.replace("@.", "@8001.")
    path.write_text(text.replace(PROGRAM, sys.executable))
    ran = subprocess.run([analyze, "verify", path], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_settings_are_there_and_filled_in(environment, tmp_path):
    given = variables(environment.read_text())
    names = {variable(name) for name in declared()}
    assert given.keys() <= names
    offered = re.findall(r"^#(ANABRANCH_\w+)=", environment.read_text(), re.MULTILINE)
    assert offered
    assert set(offered) <= names
    assert not re.search(r"PASSWORD|SECRET|ADMIN|KEY", "".join(given.values()))
    loaded = load_settings({}, given, None, folder=tmp_path)
    assert loaded.warnings == ()
    assert (loaded.settings.database.type, loaded.settings.workers) == ("postgres", 2)


def test_the_page_installs_the_files_that_there_are():
    named = re.findall(r"(?<![\w/])deploy/([\w@.-]+)", "".join(BLOCKS))
    assert {"environment", "nginx.conf", *UNITS} == set(named)
    assert all((DEPLOY / name).is_file() for name in named)
    for name in UNITS:
        assert unit(name)["EnvironmentFile"] == ENVIRONMENT
        assert unit(name)["ExecStart"].startswith(PROGRAM)
        assert f"/var/lib/{unit(name)['StateDirectory']}" == "/var/lib/anabranch"
    assert f"install --mode 0600 deploy/environment {ENVIRONMENT}" in block("useradd")
    project = (PROJECT / "pyproject.toml").read_text("utf-8")
    version = re.search(r'^version = "(.*)"', project, re.MULTILINE)[1]
    assert f"/opt/anabranch-{version}/bin/pip" in block("useradd")


@pytest.mark.skipif(nginx_program() is None, reason="nginx is not installed")
def test_what_the_units_start_serves_behind_nginx(environment, postgres_cluster, tmp_path):
    url = postgres_cluster.url(postgres_cluster.make_database())
    given = variables(environment.read_text()) | {
        "ANABRANCH_DATA": str(tmp_path / "lib"),
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": url,
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH")}

    def start(name, instance=""):
        words = unit(name)["ExecStart"].replace("%i", instance).split()
        assert words.pop(0) == PROGRAM
        log = (tmp_path / f"log-{instance}").open("w")
        return subprocess.Popen(
            [forked_python(), "-m", "anabranch", *words],
            env=clean | given | {"PYTHONPATH": str(PROJECT / "src")},
            cwd=tmp_path,
            stdout=log,
            stderr=log,
        )

    assert start("anabranch-migrate.service").wait(60) == 0
    site = tmp_path / "site"
    run(command(block("nginx -t"), "sed").replace(SITE, str(site)))
    text, ports = site.read_text(), {}
    for port in ("8001", "8002"):
        assert text.count(f"server 127.0.0.1:{port} ") == 1
        ports[port] = str(free_port())
        text = text.replace(f"127.0.0.1:{port} ", f"127.0.0.1:{ports[port]} ")
    health = re.search(r"http://127.0.0.1:%i(\S+)", unit("anabranch@.service")["ExecStartPost"])[1]
    with ExitStack() as entered:
        servers = [start("anabranch@.service", port) for port in ports.values()]
        for server in servers:
            entered.callback(server.wait)
            entered.callback(server.kill)
        for port in ports.values():
            await_health(f"http://127.0.0.1:{port}{health}")
        folder = tmp_path / "nginx"
        folder.mkdir()
        port = free_port()
        entered.enter_context(running_nginx(text, "listen 8000;", port, folder))
        names = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
        pair = tuple(given[f"ANABRANCH_INSTALLATION_{name}"] for name in names)
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", auth=pair) as client:
            assert client.get(health).status_code == 200
            body = {"name": "flights", "storage_namespace": "local://flights"}
            assert client.post("/api/v1/repositories", json=body).status_code == 201
            for _ in range(10):
                found = client.get("/api/v1/repositories/flights")
                assert found.status_code == 200
        for server in servers:
            server.send_signal(signal.SIGTERM)
        assert [server.wait(60) for server in servers] == [0, 0]


def await_health(url):
    end = time.monotonic() + 60
    while True:
        try:
            assert httpx2.get(url).status_code == 200
        except httpx2.TransportError:
            assert time.monotonic() < end
            time.sleep(0.1)
        else:
            return
