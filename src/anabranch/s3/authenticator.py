"""Authentication of S3 requests: by signatures, policies of forms, and the API's own schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.table_actor import TableActor
from anabranch.access.credentials.table_keys import TableKeys, is_table_key
from anabranch.access.sessions.authenticate import Authenticator
from anabranch.access.sessions.tokens import parse_session_cookie
from anabranch.access.sessions.workspace_grants import is_same_user
from anabranch.audit.log import RequestAudit
from anabranch.errors import AnabranchError
from anabranch.http.same_origin import session_authenticates
from anabranch.model.caller import Principal
from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.claimed_key import claimed_access_key
from anabranch.s3.signatures.verified import Verified
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.request import Request

__all__ = ["RequestAuthenticator"]

_CROSS_SITE = "The session cookie does not authenticate a change that another site may have caused"


class RequestAuthenticator:
    """Finds the actor of a request. Errors are recorded in the audit log, if there is one."""

    def __init__(
        self, authenticator: Authenticator, table_keys: TableKeys, clock: Callable[[], float]
    ) -> None:
        self._authenticator = authenticator
        self._table_keys = table_keys
        self._clock = clock
        self._verifier = Verifier(self._secret, clock)

    def authenticate(
        self, request: Request, client: str, audit: RequestAudit | None
    ) -> tuple[Actor, Verified | None]:
        """Returns the actor, and what the request's signature covers, if it has one. `client` is
        the address of the client. Raises the error that refuses the request.
        """
        if audit is None:
            return self._authenticate(request, client)
        with _errors_recorded(audit, claimed_access_key(request)):
            return self._authenticate(request, client)

    def authenticate_policy(self, fields: Mapping[str, str], audit: RequestAudit | None) -> Actor:
        """Returns the signer of a form's policy. Raises the error that refuses it."""
        with _errors_recorded(audit, ""):
            return self._actor_of_key(self._verifier.verify_policy(fields))

    def in_context(self, actor: Actor, client: str, audit: RequestAudit | None) -> Actor:
        """Returns the actor of a request with its context, and records it."""
        if audit is not None:
            audit.authenticated(actor)
            return actor.in_context(client, self._clock(), audit.decided)
        if actor.is_conditional:
            return actor.in_context(client, self._clock())
        return actor

    def _authenticate(self, request: Request, client: str) -> tuple[Actor, Verified | None]:
        throttle = self._authenticator.throttle
        if throttle.has_failures:
            throttle.check(claimed_access_key(request), client)
        try:
            verified = self._verifier.verify(request)
        except S3Error as error:
            if error.code == "SignatureDoesNotMatch":
                throttle.failed(claimed_access_key(request), client)
            raise
        if verified is None:
            return self._actor_by_credentials(request, client), None
        throttle.succeeded(verified.access_key_id, client)
        return self._actor_of_key(verified.access_key_id), verified

    def _actor_of_key(self, access_key_id: str) -> Actor:
        if is_table_key(access_key_id):
            return self._actor_of_table(access_key_id)
        actor = self._authenticator.find_actor_by_key(access_key_id)
        if actor is None:
            raise S3Error("InvalidAccessKeyId")
        return actor

    def _actor_of_table(self, access_key_id: str) -> Actor:
        found = self._table_keys.find(access_key_id)
        if found is None:
            raise S3Error("InvalidAccessKeyId")
        grant = found[0]
        user = self._authenticator.find_bound_actor(grant.username, grant.binding)
        principal = Principal(grant.username, grant.created_at, record_id=grant.record_id)
        if user is None or not is_same_user(user, principal):
            raise S3Error("InvalidAccessKeyId")
        return TableActor(user, grant)

    def _actor_by_credentials(self, request: Request, client: str) -> Actor:
        """Returns the actor by the API's own schemes: Basic, Bearer or the session's cookie."""
        authorization = request.headers.get("authorization")
        session = parse_session_cookie(request.headers.get("cookie", ""))
        counts = not session or session_authenticates(request.method, request.headers)
        actor = self._authenticator.authenticate(authorization, session if counts else None, client)
        if actor is None:
            raise S3Error("AccessDenied", None if counts else _CROSS_SITE)
        return actor

    def _secret(self, access_key_id: str) -> Secret | None:
        if is_table_key(access_key_id):
            found = self._table_keys.find(access_key_id)
            return None if found is None else found[1]
        credential = self._authenticator.find_credential(access_key_id)
        return None if credential is None else credential.secret


@contextmanager
def _errors_recorded(audit: RequestAudit | None, access_key_id: str) -> Iterator[None]:
    """Records an error of authentication."""
    try:
        yield
    except AnabranchError as error:
        if audit is not None:
            audit.refused(error.kind, access_key_id)
        raise
