"""Files of settings: of a server, of the command line, and of a folder that is linked to a lake."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from fuzz.target import Target, outcome

from anabranch.cli.commands.local.link import LINK_FILE, linked_below
from anabranch.cli.errors import Failure
from anabranch.client.settings import resolve
from anabranch.server.config.sources import from_file

__all__ = ["TARGETS"]


_MAX_BYTES = 2000
"""Users write these files themselves, and the library takes a second for 500 brackets."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def check(data: bytes) -> None:
    folder = Path(_folder().name)
    for name in ("settings.yaml", "settings.toml", LINK_FILE):
        (folder / name).write_bytes(data[:_MAX_BYTES])
        (folder / name).chmod(0o600)
    for name in ("settings.yaml", "settings.toml"):
        outcome(from_file, folder / name)
        outcome(resolve, {"HOME": str(folder), "ANABRANCH_CONFIG_FILE": str(folder / name)})
    with suppress(Failure):  # of the command line, without a status
        list(linked_below(folder))


TARGETS = (
    Target(
        "settings_file",
        check,
        lambda: (
            (
                b"credentials:\n  access_key_id: AKIA\n  secret_access_key: secret\n"
                b"server:\n  endpoint_url: http://127.0.0.1:8000/api/v1\n"
            ),
            (
                b"listen_address: 0.0.0.0:8000\ndatabase:\n  type: local\n  local: {path: ~/data}\n"
                b"blockstore:\n  type: s3\n  s3: {region: us-east-1, force_path_style: true}\n"
            ),
            b'url = "http://127.0.0.1:8000"\naccess_key_id = "AKIA"\n[http]\nlisten = "a:1"\n',
            b"src: lakefs://repo/main/a/\nat_head: " + b"a" * 64 + b"\nactive_operation: pull\n",
        ),
        (
            *(
                b"!!timestamp ",
                b"!!bool ",
                b"!!int ",
                b"!!binary ",
                b"!!set ",
                b"&a ",
                b"*a",
                b"- ",
            ),
            *(b"<<: *a", b": ", b"\n  ", b"? ", b"[[a]]\n", b" = ", b'"""', b"1979-05-27", b"\\u"),
        ),
        inputs=100,
    ),
)
