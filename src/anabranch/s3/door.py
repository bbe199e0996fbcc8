"""The door of S3: from a request to the operation that it asks for, and to its answer.

The order of steps is S3's: who asks, then whether they may, then the work. Everything here is
synchronous and may run on any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.access.actor import Actor
from anabranch.access.decide import decide
from anabranch.access.same_origin import counts_session
from anabranch.access.tokens import session_in
from anabranch.errors import AnabranchError
from anabranch.model.secret import Secret
from anabranch.s3.addressing import (
    Address,
    Domains,
    address_of,
    is_bucket_name,
    parameters_of,
)
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.cors import Cors
from anabranch.s3.errors import S3Error
from anabranch.s3.faults import answer_error
from anabranch.s3.misdirected import is_misdirected, refusing
from anabranch.s3.operation import BodyKind, ByKey
from anabranch.s3.payloads.form import reaches_file, read_form
from anabranch.s3.payloads.post_policy import check_policy
from anabranch.s3.permissions import permissions_of
from anabranch.s3.presigned_headers import with_presigned_headers
from anabranch.s3.services import Services
from anabranch.s3.signatures.verified import Verified
from anabranch.s3.signatures.verifier import Verifier
from anabranch.s3.table import Choice, choose, is_form
from anabranch.signing.request import Request

__all__ = ["PREFLIGHT", "Door", "Visit"]

PREFLIGHT = "OPTIONS"
"""The method by which browsers ask whether a page may send a request."""

_LONGEST_HEADERS = 16 * 1024
"""What the values of all headers may have together, in bytes; S3 takes 8 KB."""

_BEFORE_SIGNATURE = frozenset({"RequestHeaderSectionTooLarge", "InvalidURI"})
"""What is told whatever the signature: S3 reads a request's head before it looks at that."""

_CROSS_SITE = "The session cookie does not authenticate a change that another site may have caused"


class Door:
    """Takes in requests of S3."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._domains = Domains(services.domains)
        self.cors = Cors(services.cors)
        self._authenticator = services.access.authenticator
        self._verifier = Verifier(self._secret, services.clock)

    def takes(self, headers: Mapping[str, str], query: str) -> bool:
        """Returns whether a request is for this door."""
        return self._domains.takes(headers, query)

    def takes_unknown(self, method: str, headers: Mapping[str, str]) -> bool:
        """Returns whether a request to a path that nobody knows is for this door all the same: it
        is a form with a file, which a page sends that got it from `generate_presigned_post`, or a
        preflight request of a browser.
        """
        if method == PREFLIGHT:
            return self.cors.takes(headers)
        return method == "POST" and is_form(headers)

    def visit(
        self, method: str, path: str, query: str, headers: dict[str, str], *, request_id: str
    ) -> Visit:
        """Returns the request, understood as far as its head says; `path` and `query` are as they
        were sent, headers as `joined_headers` makes them.
        """
        request = Request(method=method, path=path, query=query, headers=headers)
        return Visit(self, request, request_id)

    def admit(self, request: Request, carried: Request, choice: Choice) -> Call:
        """Returns the call of the operation that a request asks for, once who asks is known and
        may; `carried` is the request with the headers of its URL. Nothing of the body is needed
        for it. Raises what refuses it.
        """
        actor, verified = self.authenticate(request)
        call = Call(self._services, carried, choice.address, choice.query, actor, verified)
        permission = choice.operation.permission
        if not isinstance(permission, ByKey):
            decide(actor, permissions_of(permission, call))
        return call

    def admit_form(self, carried: Request, choice: Choice, content: Iterable[bytes]) -> Call:
        """Returns the call that a form makes, once who signed its policy is known and may, and the
        policy allows it; the body has been read up to the file then. Raises what refuses it.
        """
        form = read_form(carried.headers.get("content-type", ""), content)
        fields, bucket = form.fields, choice.address.bucket
        actor = self._holder(self._verifier.verify_policy(fields))
        sizes = check_policy(fields["policy"], fields, bucket, self._services.clock())
        if "key" not in fields:
            raise S3Error(
                "InvalidArgument",
                "Bucket POST must contain a field named 'key'.  If it is specified, please check "
                "the order of the fields.",
                ArgumentName="key",
                ArgumentValue="",
            )
        address = Address.of(bucket, fields["key"])
        call = Call(self._services, carried, address, choice.query, actor, None)
        call.fields = fields
        call.content = sizes.limited(form.content)
        permission = choice.operation.permission
        if not isinstance(permission, ByKey):
            decide(actor, permissions_of(permission, call))
        return call

    def bucket(self, host: str) -> str:
        """Returns the bucket that a host names, the empty string for none."""
        return self._domains.bucket(host) or ""

    def authenticate(self, request: Request) -> tuple[Actor, Verified | None]:
        """Returns who asks, and what the request's signature covers, if it has one. Raises what
        refuses it.
        """
        verified = self._verifier.verify(request)
        if verified is None:
            return self._known(request), None
        return self._holder(verified.access_key_id), verified

    def _holder(self, access_key_id: str) -> Actor:
        actor = self._authenticator.holder(access_key_id)
        if actor is None:
            raise S3Error("InvalidAccessKeyId")
        return actor

    def _known(self, request: Request) -> Actor:
        """Returns who asks by the API's own ways: Basic, Bearer or the session's cookie."""
        authorization = request.headers.get("authorization")
        session = session_in(request.headers.get("cookie", ""))
        counts = not session or counts_session(request.method, request.headers)
        actor = self._authenticator.authenticate(authorization, session if counts else None)
        if actor is None:
            raise S3Error("AccessDenied", None if counts else _CROSS_SITE)
        return actor

    def _secret(self, access_key_id: str) -> Secret | None:
        credential = self._authenticator.credential(access_key_id)
        return None if credential is None else credential.secret


class Visit:
    """One request. `operation` is what it asks for, by its id, `body` says how its body is wanted,
    `quick` that it may be answered where it arrived, `brief` that it may wait together with others,
    `form` that who asks stands in the body. Every answer has the headers `cors` besides.
    """

    __slots__ = (
        "_call",
        "_carried",
        "_door",
        "_preflight",
        "_refused",
        "_request_id",
        "_wrong",
        "body",
        "brief",
        "choice",
        "cors",
        "form",
        "operation",
        "quick",
        "request",
    )

    def __init__(self, door: Door, request: Request, request_id: str) -> None:
        self._door = door
        self._request_id = request_id
        self.request = request
        self.operation = "unknown"
        self.body = BodyKind.NONE
        self.quick = self.brief = self.form = False
        self.cors = door.cors.headers(request.headers)
        self._call: Call | None = None
        self._preflight: Answer | None = None
        self._wrong: AnabranchError | None = None
        self._refused = False
        try:
            if request.method == PREFLIGHT:
                self.operation, self.quick = "Preflight", True
                self._preflight = door.cors.preflight(request.headers)
                return
            self._carried, self.choice = self._understood(request)
        except AnabranchError as error:
            self._wrong = error
        else:
            self.operation = self.choice.operation.id
            self.body = self.choice.operation.body
            self.quick = self.choice.operation.quick
            self.brief = self.choice.operation.brief
            self.form = self.choice.operation.form

    def admit(self) -> Answer | None:
        """Returns None if the request may be answered, else the answer that refuses it, or that
        to a preflight request; asked before any of the body is taken, and once is enough. Of a form
        nothing is known yet.
        """
        if self._preflight is not None:
            return self._preflight
        if self._call is None and not self._refused and not self.form:
            try:
                if self._wrong is None:
                    self._call = self._door.admit(self.request, self._carried, self.choice)
                elif self._is_authenticated_first(self._wrong):
                    self._door.authenticate(self.request)
            except Exception as error:  # noqa: BLE001  whatever it is, the client gets an answer
                self._wrong = self._told(error)
            self._refused = self._wrong is not None
        return None if self._wrong is None else self.refusal(self._wrong)

    def answer(self, content: Iterable[bytes] = ()) -> Answer:
        """Returns the answer, whatever happens; `content` is the body, if one is wanted."""
        refused = self._admit_form(content) if self.form else self.admit()
        if refused is not None or self._call is None:
            return refused or self.refusal(S3Error("InternalError"))
        if not self.form:
            self._call.content = content
        try:
            return self.choice.operation.handler(self._call)
        except Exception as error:  # noqa: BLE001  as above
            return self.refusal(self._told(error))

    def reaches_file(self, begun: bytes) -> bool:
        """Returns whether the beginning of a form's body is enough to decide whether it may be
        answered.
        """
        return reaches_file(self.request.headers.get("content-type", ""), begun)

    def _admit_form(self, content: Iterable[bytes]) -> Answer | None:
        try:
            self._call = self._door.admit_form(self._carried, self.choice, content)
        except Exception as error:  # noqa: BLE001  as above
            return self.refusal(self._told(error))
        return None

    def refusal(self, error: AnabranchError) -> Answer:
        """Returns the answer that tells of an error."""
        if error.kind == "repository_not_found":
            # only looked at here: a name that cannot be is not found anyway
            address = self.choice.address
            if is_misdirected(self.request, address):
                error = S3Error("ErrNoSuchBucketPossibleAPIEndpoint")
            elif not is_bucket_name(address.bucket):
                error = S3Error("InvalidBucketName", BucketName=address.bucket)
        answer = answer_error(
            error,
            resource=self.request.path,
            request_id=self._request_id,
            bodiless=self.request.method == "HEAD",
        )
        if isinstance(error, S3Error) and error.__cause__ is not None:
            answer.error = error.__cause__
        return answer

    def _is_authenticated_first(self, error: AnabranchError) -> bool:
        """Returns whether an error is told to known clients alone. A form's signature is in its
        body, and a preflight request has none.
        """
        if error.kind in _BEFORE_SIGNATURE or self.request.method == PREFLIGHT:
            return False
        return not is_form(self.request.headers)

    def _told(self, error: Exception) -> AnabranchError:
        if isinstance(error, AnabranchError):
            return error
        internal = S3Error("InternalError")
        internal.__cause__ = error  # what the log tells
        return internal

    def _understood(self, request: Request) -> tuple[Request, Choice]:
        """Returns the request with the headers that its URL carries, and what it asks for."""
        if sum(map(len, request.headers.values())) > _LONGEST_HEADERS:
            raise S3Error("RequestHeaderSectionTooLarge")
        bucket = self._door.bucket(request.headers.get("host", ""))
        if bucket:
            self.request = request = Request(
                method=request.method,
                path=request.path,
                query=request.query,
                headers=request.headers,
                bucket=bucket,
            )
        address = address_of(request.path, bucket)
        query = parameters_of(request.query)
        carried = with_presigned_headers(request)
        try:
            choice = choose(carried, address, query)
        except S3Error as error:
            if not is_misdirected(request, address):
                raise
            choice = Choice(refusing(error), address, query)
        return carried, choice
