"""MinIO for tests: a real S3 service, over a folder and on a free port of its own.

    with running_minio(program) as server:
        server.make_bucket("lake")
        server.blocks().put("s3://lake/a", [b"x"])

`make minio` builds it once, into a cache outside of the checkout. It runs over a kept folder, so
neither server nor folder outlives its test.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.services.ending import end
from support.services.guarded_tmpdir import kept_folder
from support.services.s3_service import CREDENTIALS, S3Service

__all__ = ["Minio", "running_minio"]

_LISTENS = re.compile(rb"API: http://127\.0\.0\.1:(\d+)")
_START_SECONDS = 100
_SETTINGS = {"MINIO_BROWSER": "off", "MINIO_UPDATE": "off", "MINIO_CALLHOME_ENABLE": "off"}


class Minio(S3Service):
    """A MinIO that runs on `port` of 127.0.0.1."""

    product = "MinIO"
    least_part_bytes = 5 << 20


@contextmanager
def running_minio(program: Path) -> Iterator[Minio]:
    """Runs a MinIO and stops it afterwards."""
    with kept_folder() as folder:
        environment = {
            "HOME": str(folder),  # where it would find a person's certificates
            "MINIO_ROOT_USER": CREDENTIALS.access_key_id,
            "MINIO_ROOT_PASSWORD": CREDENTIALS.secret.reveal(),
            "MINIO_REGION": Minio.region,
            **_SETTINGS,
        }
        log = folder / "log"
        with log.open("wb") as written:
            process = subprocess.Popen(
                [program, "server", "--json", "--address", "127.0.0.1:0", folder / "data"],
                cwd=folder,
                stdout=written,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        try:
            yield Minio(_port(process, log))
        finally:
            end(process)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Returns the port that a starting MinIO names."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        ended = process.poll() is not None
        if found := _LISTENS.search(log.read_bytes()):
            return int(found[1])
        if ended or time.monotonic() > deadline:
            raise AssertionError(f"MinIO did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.02)
