"""A call of an operation: the request, and its decoded parameters and body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.object_rights import ObjectRights
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.audit.log import RequestAudit
from anabranch.catalog.commits.importable_addresses import ImportableAddresses
from anabranch.catalog.objects.address_tokens import without_token
from anabranch.errors import Unauthenticated
from anabranch.rest.protocol.idempotency import RepeatedRequest
from anabranch.rest.protocol.services import Services
from anabranch.signing.request import header_text
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["Call", "Request"]

ParamsT = TypeVar("ParamsT")
BodyT = TypeVar("BodyT")
T = TypeVar("T")


class Request:
    """A request as it was received, undecoded.

    `segments` are the path's parameters in order, `query` is the query string, `headers` are as
    `join_headers` makes them, `body` is a whole body and `content` one that is still being
    received; iterating over it raises Truncated if the connection breaks. `id` is the request's
    name in logs, `client` the address of the client. `audit` is the request's record in the audit
    log, if there is one. `actor` is the user of a request that the server itself makes for a hook,
    of the run `hook_run`. `user` is the name of the user once it is authenticated.
    """

    __slots__ = (
        "actor",
        "audit",
        "body",
        "client",
        "content",
        "headers",
        "hook_run",
        "id",
        "query",
        "secure",
        "segments",
        "user",
    )

    def __init__(
        self,
        segments: Mapping[str, str],
        query: str,
        headers: Mapping[str, str],
        *,
        id: str = "",
        body: bytes = b"",
        content: Iterable[bytes] = (),
        secure: bool = False,
        client: str = "",
    ) -> None:
        self.segments = segments
        self.query = query
        self.headers = headers
        self.id = id
        self.body = body
        self.content = content
        self.secure = secure
        self.client = client
        self.user = ""
        self.audit: RequestAudit | None = None
        self.actor: Actor | None = None
        self.hook_run = ""

    def header(self, name: str) -> str:
        """Returns a header's value, the empty string without one."""
        return header_text(self.headers.get(name, ""))


class Call(Generic[ParamsT, BodyT]):
    """A call that has been validated and authorized. `actor` is None only where the operation
    allows anonymous requests, `body` is None only where it is optional, `repetition` is None
    without an idempotency key.
    """

    __slots__ = ("_drawn", "actor", "body", "params", "repetition", "request", "services")

    def __init__(
        self,
        services: Services,
        request: Request,
        params: ParamsT,
        body: BodyT,
        actor: Actor | None,
    ) -> None:
        self.services = services
        self.request = request
        self.params = params
        self.body = body
        self.actor = actor
        self.repetition: RepeatedRequest | None = None
        self._drawn = ""

    def draw(self, make: Callable[[], str]) -> str:
        """Returns the text that `make` returns when it is first called: a random name, which the
        permissions of the call and its handler share.
        """
        self._drawn = self._drawn or make()
        return self._drawn

    def recording(self, result: Callable[[T], object]) -> Sequence[ExtraWritesFor[T]]:
        """Returns what records the response to the request in the write of its change; nothing if
        the request has no idempotency key. `result` converts the result of the change to that of
        the handler.
        """
        return () if self.repetition is None else (self.repetition.recording(result),)

    def readable_paths(self, reference: str, prefix: str) -> ReadablePaths | None:
        """Returns the paths of the call's repository that the actor may read at a reference; None
        if the actor may read all paths with the prefix.
        """
        repository = getattr(self.params, "repository", "")
        return self.services.catalog.images.readable_paths(
            self.authenticated, repository, reference, prefix
        )

    def importable_addresses(self) -> ImportableAddresses:
        """Returns the addresses in the store that the actor may import."""
        return self.services.catalog.importable_addresses(self.authenticated, self.record_address)

    def record_address(self, address: str) -> None:
        """Adds an address that the request names, without its token, to its record in the audit
        log.
        """
        if self.request.audit is not None:
            self.request.audit.name_address(without_token(address))

    @property
    def object_rights(self) -> ObjectRights:
        """What the actor may do with single objects of the call's repository."""
        repository = getattr(self.params, "repository", "")
        return ObjectRights(self.authenticated, repository, self.changed_branch)

    @property
    def changed_branch(self) -> str:
        """The branch whose objects the operation changes, empty if there is none. Raises NotFound
        for a pull request that does not exist.
        """
        params: Any = self.params
        if hasattr(params, "pull_request"):
            pulls = self.services.catalog.pulls
            return pulls.get(params.repository, params.pull_request).destination
        branch = getattr(params, "destination_branch", "") or getattr(params, "branch", "")
        return str(branch)

    @property
    def authenticated(self) -> Actor:
        """The user of the call. Raises Unauthenticated for an anonymous one."""
        if self.actor is None:
            raise Unauthenticated("error authenticating request")
        return self.actor

    @property
    def username(self) -> str:
        """The name that identifies the caller."""
        return "" if self.actor is None else self.actor.username

    @property
    def committer(self) -> str:
        """The name that the caller's commits carry."""
        return "" if self.actor is None else self.actor.committer
