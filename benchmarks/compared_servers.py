"""The servers that comparisons measure, each over a folder and a database of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from compared_operations import IMPORTED, Target, imported_name
from support.services.lakefs_program import HOST, lakefs_environment, running_lakefs, set_up
from support.services.postgres import running_cluster
from support.services.recorded_lakefs import ACCESS_KEY_ID, SECRET_ACCESS_KEY

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import running_server

__all__ = ["Conditions", "lakefs_server", "our_server", "temporary_folder"]


class Conditions(NamedTuple):
    """What both servers have alike: the kind of database, the seconds of a turn, and a folder with
    files that may be imported.
    """

    database: str
    seconds: float
    imported: Path

    @classmethod
    def prepare(cls, stack: ExitStack, database: str, seconds: float) -> Conditions:
        """Returns the conditions, with files in a folder that the stack removes."""
        folder = temporary_folder(stack)
        for number in range(IMPORTED):
            file = folder / imported_name(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bytes(1024))
        return cls(database, seconds, folder)

    def target(self, url: str, auth: tuple[str, str], processes: list[int]) -> Target:
        """Returns a server that runs as a target."""
        return Target(url, auth, processes, seconds=self.seconds, imported=self.imported)


def temporary_folder(stack: ExitStack) -> Path:
    """Returns a new folder on the disk of TMPDIR, which the stack removes."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="anabranch-bench-")))


@contextmanager
def our_server(
    folder: Path, conditions: Conditions, *, source: Path | None = None, workers: int = 1
) -> Iterator[Target]:
    """Runs this checkout's server."""
    importing = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(conditions.imported),
    }
    with ExitStack() as stack:
        url, processes = "", []
        if conditions.database == "postgres":
            cluster = stack.enter_context(running_cluster())
            url = cluster.url(cluster.make_database())
            PostgresDatabase(url).migrate()
            processes.append(cluster.pid)
        server = stack.enter_context(
            running_server(folder, workers=workers, database=url, env=importing, source=source)
        )
        processes.append(server.pid)
        yield conditions.target(server.url, server.auth, processes)


@contextmanager
def lakefs_server(program: str, folder: Path, conditions: Conditions) -> Iterator[Target]:
    """Runs a lakeFS."""
    with ExitStack() as stack:
        processes = []
        settings = {
            "LAKEFS_DATABASE_TYPE": "local",
            "LAKEFS_DATABASE_LOCAL_PATH": str(folder / "database"),
        }
        if conditions.database == "postgres":
            cluster = stack.enter_context(running_cluster())
            settings = {
                "LAKEFS_DATABASE_TYPE": "postgres",
                "LAKEFS_DATABASE_POSTGRES_CONNECTION_STRING": cluster.url(cluster.make_database()),
            }
            processes.append(cluster.pid)
        importing = {
            "LAKEFS_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
            "LAKEFS_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(conditions.imported),
        }
        environment = lakefs_environment(folder, settings | importing)
        set_up(program, environment)
        lakefs = stack.enter_context(running_lakefs(program, environment))
        processes.append(lakefs.pid)
        keys = (ACCESS_KEY_ID, SECRET_ACCESS_KEY)
        yield conditions.target(f"http://{HOST}", keys, processes)
