"""nginx for tests, before servers of this machine, with the configuration of a deployment."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from support.services.ending import end

__all__ = ["nginx_program", "running_nginx"]

_START_SECONDS = 30
_MAIN = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log info;
worker_processes 2;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def nginx_program() -> str | None:
    """Returns the path of nginx, or None where it is not installed."""
    return shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


@contextmanager
def running_nginx(site: str, listens: str, port: int, folder: Path) -> Iterator[Path]:
    """Runs nginx with a site's configuration, whose line `listens` is made to name `port` of
    127.0.0.1, with all its files in `folder`; gives its error log.

    Raises FileNotFoundError where nginx is not installed, AssertionError with its own words if it
    does not start.
    """
    program = nginx_program()
    if program is None:
        raise FileNotFoundError("nginx is not installed: `make components` does that")
    assert site.count(listens) == 1, f"{listens!r} is not in the configuration once"
    (folder / "site.conf").write_text(site.replace(listens, f"listen 127.0.0.1:{port};"))
    main, log = folder / "nginx.conf", folder / "error.log"
    main.write_text(_MAIN.format(folder=folder))
    log.touch()
    folder.chmod(0o755)
    command: Sequence[str] = [program, "-p", str(folder), "-e", str(log), "-c", str(main)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"nginx did not start:\n{log.read_text()}")
            time.sleep(0.05)
        yield log
    finally:
        end(process)


def _answers(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False
