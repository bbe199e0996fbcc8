"""A real lakeFS, run to record what it writes and responds, and to compare with; only the scripts
`record.py` below `tests/data` and `benchmarks/compare_lakefs.py` need its program.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError

from support.histories.described_installation import RestCalls
from support.services.recorded_lakefs import (
    ACCESS_KEY_ID,
    ENCRYPT_KEY,
    SECRET_ACCESS_KEY,
    USER_NAME,
)

__all__ = ["HOST", "LakeFS", "lakefs_environment", "running_lakefs", "set_up", "wait_until"]

HOST = "127.0.0.1:28084"

_API = f"http://{HOST}/api/v1"
_TIMEOUT_SECONDS = 60


class LakeFS(RestCalls):
    """Requests of the administrator that change something; `pid` is the server's process."""

    def __init__(self, pid: int) -> None:
        super().__init__(_API, (ACCESS_KEY_ID, SECRET_ACCESS_KEY))
        self.pid = pid

    def put(self, repository: str, branch: str, path: str, text: str, **query: Any) -> None:
        """Uploads an object."""
        where = f"/repositories/{repository}/branches/{branch}/objects"
        self.call("POST", where, None, text.encode(), path=path, **query)

    def stage(self, repository: str, branch: str, path: str, **fields: Any) -> None:
        """Stages an object by its physical address."""
        where = f"/repositories/{repository}/branches/{branch}/objects"
        self.call("PUT", where, fields, path=path)

    def create(self, name: str, namespace: str, **more: Any) -> None:
        """Creates a repository."""
        self.call("POST", "/repositories", {"name": name, "storage_namespace": namespace, **more})

    def remove(self, repository: str, branch: str, path: str) -> None:
        """Deletes an object."""
        self.call("DELETE", f"/repositories/{repository}/branches/{branch}/objects", path=path)

    def commit(self, repository: str, branch: str, message: str, **more: Any) -> str:
        """Commits and returns the commit's id."""
        where = f"/repositories/{repository}/branches/{branch}/commits"
        committed = self.call(
            "POST", where, {"metadata": {"author": "crew"}, **more, "message": message}
        )
        return str(committed["id"])

    def branch(self, repository: str, name: str, source: str = "main", **more: Any) -> None:
        """Creates a branch."""
        where = f"/repositories/{repository}/branches"
        self.call("POST", where, {"name": name, "source": source, **more})


def lakefs_environment(folder: Path, database: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables of a lakeFS that keeps its objects in `folder / "block"`
    and sends nothing to anyone; `database` has its settings of the database.
    """
    return {
        **os.environ,
        **database,
        "LAKEFS_LISTEN_ADDRESS": HOST,
        "LAKEFS_AUTH_ENCRYPT_SECRET_KEY": ENCRYPT_KEY,
        "LAKEFS_BLOCKSTORE_TYPE": "local",
        "LAKEFS_BLOCKSTORE_LOCAL_PATH": str(folder / "block"),
        "LAKEFS_COMMITTED_LOCAL_CACHE_DIR": str(folder / "cache"),
        "LAKEFS_STATS_ENABLED": "false",
        "LAKEFS_USAGE_REPORT_ENABLED": "false",
        "LAKEFS_SECURITY_AUDIT_CHECK_URL": "",
        "LAKEFS_SECURITY_CHECK_LATEST_VERSION": "false",
        "LAKEFS_LOGGING_LEVEL": "ERROR",
        "HOME": str(folder),
    }


def set_up(program: str, environment: Mapping[str, str]) -> None:
    """Creates the administrator. Raises CalledProcessError."""
    key = ["--access-key-id", ACCESS_KEY_ID, "--secret-access-key", SECRET_ACCESS_KEY]
    subprocess.run(
        [program, "setup", "--user-name", USER_NAME, *key],
        env=environment,
        cwd=environment["HOME"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def running_lakefs(program: str, environment: Mapping[str, str]) -> Iterator[LakeFS]:
    """Runs lakeFS, yields it when it responds, and stops it afterwards."""
    server = subprocess.Popen(
        [program, "run"], env=environment, cwd=environment["HOME"], stdout=subprocess.DEVNULL
    )
    try:
        wait_until(_responds)
        yield LakeFS(server.pid)
    finally:
        server.terminate()
        server.wait()


def wait_until(holds: Callable[[], object]) -> None:
    """Waits until a condition holds. Raises TimeoutError after a minute."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(holds)
        time.sleep(0.1)


def _responds() -> bool:
    with suppress(URLError, OSError):
        return bool(urllib.request.urlopen(f"{_API}/healthcheck", timeout=5).status == 204)
    return False
