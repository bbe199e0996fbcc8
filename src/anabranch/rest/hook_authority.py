"""What hooks may do on a server: what the user may who caused their event, and the authors of their
code may as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote, urlencode

from anabranch.access.access import Access
from anabranch.access.actors.actor import Actor
from anabranch.access.actors.limited_actor import LimitedActor
from anabranch.catalog.actions.hook_lake import HookRights, Reader
from anabranch.catalog.images.images import Images
from anabranch.errors import Denied, Invalid
from anabranch.model.caller import Principal, acting_as
from anabranch.rest.gateway import RestGateway

__all__ = ["RestAuthority"]

_MAX_BODY_BYTES = 64 << 20


class RestAuthority:
    """The authority of a server; see `Authority`. Hooks have no address, so that policies which
    name some grant nothing.
    """

    has_users = True

    def __init__(self, gateway: RestGateway, access: Access, images: Images) -> None:
        self._gateway = gateway
        self._access = access
        self._images = images

    def serves(self, username: str) -> bool:  # noqa: ARG002  the interface has it
        """Returns True: a server can act for all users."""
        return True

    def reader(self, rights: HookRights) -> Reader:
        """Returns what a hook may read now."""
        actor = self._actor(rights)
        if actor is None:
            return lambda _repository, _reference, _prefix: None
        return partial(self._images.readable_paths, actor)

    def request(
        self, rights: HookRights, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API; returns its status and body."""
        actor = self._actor(rights)
        if actor is None or not rights.caller.username:
            raise Denied(
                "a change without a user has hooks without a REST API",
                hint="Make the change through the server, as a user.",
            )
        _require_inside(rights.repository, path)
        with acting_as(rights.caller):
            response = self._gateway.perform(
                *(actor, method, path, urlencode(query), body), hook_run=rights.run_id
            )
            if response.pieces is None:
                return response.status, response.body
            if response.length > _MAX_BODY_BYTES:
                raise Invalid(
                    f"{method} {path}: the response has {response.length} bytes; a hook can "
                    f"receive {_MAX_BODY_BYTES}",
                    kind="response_too_large",
                )
            return response.status, b"".join(response.pieces)

    def _actor(self, rights: HookRights) -> Actor | None:
        """Returns the actor of a hook; None if neither a user nor an author limits it, since all
        are programs that open the stores themselves.
        """
        now = time.time()
        found = [self._find(principal, now) for principal in rights.caller.principals]
        actors = [actor for actor in found if actor is not None]
        if not actors:
            return None
        if rights.repository or actors[1:]:
            return LimitedActor(actors[0], actors[1:], rights.repository)
        return actors[0]

    def _find(self, principal: Principal, now: float) -> Actor | None:
        """Returns a principal as an actor, None for a program that opens the stores itself. Raises
        Denied for one who is no active user.
        """
        if principal.recorded and not principal.username:
            return None
        name = principal.username
        if name and not principal.recorded:
            named = self._access.users.named_by_committer(name, principal.created_at)
            if principal.elsewhere and not named:
                return None
            name = named.pop() if len(named) == 1 else ""
        actor = self._access.actors.find(name) if name else None
        if actor is None or (principal.recorded and not _is_same(actor, principal)):
            raise Denied(
                f"{principal.username!r}, for whom the hook runs or who has changed its code last, "
                "is not an active user"
                if principal.username
                else "who has changed the code of the hook last is not known",
                kind="hook_without_user",
                hint="Let a user of this server change the action file, or its script, and commit.",
            )
        return actor.in_context("", now)


def _is_same(actor: Actor, principal: Principal) -> bool:
    """Returns whether an actor is the user of a principal, not a later one of that name. What
    earlier versions recorded names no record; then the times of creation are compared, in seconds.
    """
    if principal.record_id:
        return principal.record_id == actor.record_id
    return principal.created_at in (0, actor.created_at)


def _require_inside(repository: str, path: str) -> None:
    """Raises Denied for an operation outside of the repository; for none if that is empty."""
    segments = path.split("/")
    inside = segments[:2] == ["", "repositories"] and unquote("".join(segments[2:3])) == repository
    if repository and not inside:
        raise Denied(
            f"{path}: hooks reach the repository {repository} alone",
            kind="hook_outside_repository",
            hint="The server's operator can let them reach others by actions.trust_authors.",
        )
