"""Azurite for tests: Azure's blob storage, on a free port.

    with running_azure() as server:
        server.make_container("lake")
        server.blocks().put("https://devstoreaccount1.blob.core.windows.net/lake/a", [b"x"])

`make components` installs it. It runs over a kept folder, so it does not outlive its test.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.blocks.azure.store import azure_blocks
from anabranch.blocks.cloud.http_pool import HttpPool
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.model.secret import Secret
from support.services.ending import end
from support.services.guarded_tmpdir import kept_folder

if TYPE_CHECKING:
    from obstore.store import AzureCredential

__all__ = ["EmulatedAzure", "azurite_program", "running_azure"]

_ACCOUNT = "devstoreaccount1"
_KEY = Secret(
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The key that every Azurite has; its makers publish it."""

_PLACE = Path("tools/azurite/node_modules/azurite/dist/src/blob/main.js")
_LISTENS = "successfully listens on "


class EmulatedAzure:
    """An Azurite that runs on `port` of 127.0.0.1."""

    root = f"https://{_ACCOUNT}.blob.core.windows.net"

    def __init__(self, port: int, scheme: str = "http") -> None:
        self.port = port
        self._scheme = scheme

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a server of ours that keeps its blocks here."""
        return {
            "ANABRANCH_BLOCKSTORE_TYPE": "azure",
            "ANABRANCH_BLOCKSTORE_AZURE_STORAGE_ACCOUNT": _ACCOUNT,
            "ANABRANCH_BLOCKSTORE_AZURE_STORAGE_ACCESS_KEY": _KEY.reveal(),
            "ANABRANCH_BLOCKSTORE_AZURE_TEST_ENDPOINT_URL": self._endpoint(None),
        }

    def blocks(
        self,
        port: int | None = None,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
        *,
        signs: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> CloudBlocks:
        """Returns a block store on it, by way of another port if one is given; one that `signs`
        not leaves that to obstore, as it must where there is no key.
        """
        return azure_blocks(
            account=_ACCOUNT,
            access_key=_KEY if signs else Secret(""),
            credential=None if signs else _access_key,
            endpoint=self._endpoint(port),
            retry_policy=retry_policy,
            clock=clock,
        )

    def make_container(self, name: str) -> None:
        """Makes a container, as Microsoft's "Authorize with Shared Key" has it."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        lines = ["PUT", *[""] * 11, *(f"{key}:{value}" for key, value in headers.items())]
        lines += [f"/{_ACCOUNT}/{_ACCOUNT}/{name}", "restype:container"]
        key = base64.b64decode(_KEY.reveal())
        signature = hmac.digest(key, "\n".join(lines).encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(signature).decode()}"
        headers["Content-Length"] = "0"
        pool = HttpPool(read_timeout=60, connect_timeout=60)
        try:
            url = f"{self._endpoint(None)}/{name}?restype=container"
            answer = pool.send("PUT", url, headers)
            assert answer.status == 201, answer.body
        finally:
            pool.close()

    def _endpoint(self, port: int | None) -> str:
        return f"{self._scheme}://127.0.0.1:{port or self.port}/{_ACCOUNT}"


def _access_key() -> AzureCredential:
    return {"access_key": _KEY.reveal(), "expires_at": None}


def azurite_program() -> list[str] | None:
    """Returns the command that runs Azurite, None where it is not installed."""
    node = shutil.which("node")
    program = Path.cwd() / _PLACE
    return [node, str(program)] if node and program.exists() else None


@contextmanager
def running_azure(certificate: Path | None = None) -> Iterator[EmulatedAzure]:
    """Runs an Azurite and stops it afterwards. With a `certificate`, a file that has its key too,
    it speaks TLS and takes tokens, of which it looks at all but the signature.

    Raises FileNotFoundError where there is none.
    """
    command = azurite_program()
    if command is None:
        raise FileNotFoundError("Azurite is not installed: `make components` does that")
    options = ["--blobPort", "0", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    if certificate is not None:
        options += ["--oauth", "basic", "--cert", str(certificate), "--key", str(certificate)]
    with kept_folder() as folder:
        process = subprocess.Popen(
            [*command, *options, "--location", str(folder)],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_NO_WARNINGS": "1"},
        )
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if _LISTENS in line), "")
            assert line, "Azurite did not start"
            port = int(line.strip().rpartition(":")[2])
            yield EmulatedAzure(port, "http" if certificate is None else "https")
        finally:
            end(process)
