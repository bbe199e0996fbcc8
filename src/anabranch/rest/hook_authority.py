"""What hooks may do on a server: what the user may who caused their event."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlencode

from anabranch.access.access import Access
from anabranch.access.actor import Actor
from anabranch.actions.caller import Caller, acting_as
from anabranch.catalog.hook_lake import Reader
from anabranch.catalog.images.images import Images
from anabranch.errors import Denied, Invalid
from anabranch.rest.gateway import RestGateway

__all__ = ["RestAuthority"]

_MAX_BODY_BYTES = 64 << 20


class RestAuthority:
    """The authority of a server; see `Authority`. Hooks have no address, so that policies which
    name some grant nothing.
    """

    def __init__(self, gateway: RestGateway, access: Access, images: Images) -> None:
        self._gateway = gateway
        self._access = access
        self._images = images

    def serves(self, username: str) -> bool:  # noqa: ARG002  the interface has it
        """Returns True: a server can act for all users."""
        return True

    def reader(self, username: str) -> Reader:
        """Returns what a user may read now."""
        if not username:  # whoever has made the change may open the stores
            return lambda _repository, _reference, _prefix: None
        return partial(self._images.readable_paths, self._actor(username))

    def request(
        self, caller: Caller, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API; returns its status and body."""
        actor = self._actor(caller.username)
        with acting_as(caller):
            response = self._gateway.perform(actor, method, path, urlencode(query), body)
            if response.pieces is None:
                return response.status, response.body
            if response.length > _MAX_BODY_BYTES:
                raise Invalid(
                    f"{method} {path}: the response has {response.length} bytes; a hook can "
                    f"receive {_MAX_BODY_BYTES}",
                    kind="response_too_large",
                )
            return response.status, b"".join(response.pieces)

    def _actor(self, username: str) -> Actor:
        actor = self._access.actors.find(username)
        if actor is None:
            raise Denied(f"the user {username!r}, for whom the hook runs, does not exist")
        return actor.in_context("", time.time())
