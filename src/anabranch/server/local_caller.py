"""The REST API over the stores of a server in this process, without connections: for the one user
of a folder, who may do everything, as with `anabranch.open`.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.access.actors.actor import Actor
from anabranch.catalog.actions.hook_lake import LibraryAuthority
from anabranch.mcp.performers.gateway_performer import GatewayCaller, GatewayPerformer
from anabranch.mcp.performers.workspace_access import WorkspaceAccess
from anabranch.server.composition import Composition
from anabranch.server.config.settings import Settings
from anabranch.server.observability.logs import configure_logs

__all__ = ["open_as_local_user"]


@contextmanager
def open_as_local_user(settings: Settings, *, writes: bool) -> Iterator[GatewayPerformer]:
    """Opens the stores of the settings, and gives what performs requests of the API as the user of
    this process; `writes` is that of the performer. Raises the errors of the stores.
    """
    configure_logs(settings.logging)
    composition = Composition(settings)
    try:
        # as in a program that opens the folder: the caller is no user of a server, and hooks read
        # all; a server could not find the user whom they run for
        composition.lake.hook_lakes.authority = LibraryAuthority()
        composition.lake.start()
        actor = Actor.administrator("", email=_login_name())
        access = composition.services.access
        yield GatewayPerformer(
            composition.rest,
            GatewayCaller(actor=actor),
            access,
            WorkspaceAccess(composition.lake, access),
            writes=writes,
        )
    finally:
        composition.close()


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container with an arbitrary user id
        return "local"
