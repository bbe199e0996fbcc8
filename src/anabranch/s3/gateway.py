"""The S3 gateway: from a request to the operation that it asks for, and to its response.

The order of steps is S3's: authentication, authorization, then the operation. Everything here is
synchronous and may run on any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from anabranch.access.actors.authorize import authorize
from anabranch.audit.log import RequestAudit
from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.model.caller import acting_as
from anabranch.s3.authenticator import RequestAuthenticator
from anabranch.s3.call import Call
from anabranch.s3.confined_operations import admit, note_reads
from anabranch.s3.misdirected import is_misdirected, refusal
from anabranch.s3.operation import ByKey
from anabranch.s3.payloads.form import reaches_file, read_form
from anabranch.s3.payloads.post_policy import check_policy
from anabranch.s3.permissions import required_permissions
from anabranch.s3.protocol.addressing import (
    Address,
    Domains,
    is_bucket_name,
    parse_address,
    parse_parameters,
)
from anabranch.s3.protocol.cors import Cors
from anabranch.s3.protocol.error_responses import error_response
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.presigned_headers import with_presigned_headers
from anabranch.s3.protocol.xml_reader import MAX_DOCUMENT_BYTES
from anabranch.s3.services import Services
from anabranch.s3.table import Choice, choose, is_form
from anabranch.signing.request import Request

__all__ = ["PREFLIGHT", "S3Gateway", "S3Request"]

PREFLIGHT = "OPTIONS"
"""The method by which browsers ask whether a page may send a request."""

_READING = frozenset({"GET", "HEAD"})
"""The methods of operations that change nothing, so that none needs to know its caller."""

_LONGEST_HEADERS = 16 * 1024
"""The longest values of all headers together, in bytes; S3 accepts 8 KB."""

XML = "application/xml"
_EXPECT = "expect"
"""The header of a client that sends its body only after `100 Continue`."""
_FRAMING = 1 << 20
"""The most bytes that chunked encoding may add to a document."""

_BEFORE_SIGNATURE = frozenset({"RequestHeaderSectionTooLarge", "InvalidURI"})
"""Errors that are reported whatever the signature, which S3 checks after reading the head."""


class S3Gateway:
    """Selects, authenticates and authorizes the operations of requests."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._domains = Domains(services.domains)
        self.cors = Cors(services.cors)
        self.authenticator = RequestAuthenticator(
            services.access.authenticator, services.access.table_keys, services.clock
        )

    def matches(self, headers: Mapping[str, str], query: str) -> bool:
        """Returns whether a request is for this gateway."""
        return self._domains.matches(headers, query)

    def matches_unknown_path(self, method: str, headers: Mapping[str, str]) -> bool:
        """Returns whether a request to an unknown path is for this gateway: a form with a file, as
        pages send it with the fields of `generate_presigned_post`, or a browser's preflight
        request.
        """
        if method == PREFLIGHT:
            return self.cors.is_preflight(headers)
        return method == "POST" and is_form(headers)

    def request(self, head: RequestHead, request_id: str) -> S3Request:
        """Returns the request, with the operation that its head selects."""
        request = Request(
            method=head.method, path=head.raw_path, query=head.query, headers=head.headers
        )
        return S3Request(self, request, request_id, head.client)

    def audit(self, operation: str, client: str, request_id: str) -> RequestAudit | None:
        """Returns what records a request, None without an audit log."""
        if self._services.audit is None:
            return None
        return RequestAudit(
            self._services.audit,
            gateway="s3",
            operation=operation,
            source_ip=client,
            request_id=request_id,
        )

    def admit(
        self,
        request: Request,
        carried: Request,
        choice: Choice,
        client: str,
        audit: RequestAudit | None,
    ) -> Call:
        """Returns the call of the operation that a request asks for, once it is authenticated and
        authorized, before any of the body is read. `carried` is the request with the headers of its
        URL, `client` the address of the client. Raises the error that refuses it.
        """
        actor, verified = self.authenticator.authenticate(request, client, audit)
        actor = self.authenticator.in_context(actor, client, audit)
        call = Call(self._services, carried, choice.address, choice.query, actor, verified)
        call.actor = actor = admit(choice.operation, call, actor)
        permission = choice.operation.permission
        if not isinstance(permission, ByKey):
            authorize(actor, required_permissions(permission, call))
        return call

    def admit_form(
        self,
        carried: Request,
        choice: Choice,
        content: Iterable[bytes],
        client: str,
        audit: RequestAudit | None,
    ) -> Call:
        """Returns the call that a form makes, once the signer of its policy is authorized, and the
        policy allows it; the body has been read up to the file then. Raises the error that refuses
        it.
        """
        form = read_form(carried.headers.get("content-type", ""), content)
        fields, bucket = form.fields, choice.address.bucket
        actor = self.authenticator.authenticate_policy(fields, audit)
        actor = self.authenticator.in_context(actor, client, audit)
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
        call.actor = actor = admit(choice.operation, call, actor)
        permission = choice.operation.permission
        if not isinstance(permission, ByKey):
            authorize(actor, required_permissions(permission, call))
        return call

    def bucket(self, host: str) -> str:
        """Returns the bucket that a host names, the empty string for none."""
        return self._domains.bucket(host) or ""


class S3Request:
    """One request; see `GatewayRequest`. A `form` has its credentials in its body."""

    __slots__ = (
        "_audit",
        "_call",
        "_carried",
        "_client",
        "_cors",
        "_error",
        "_gateway",
        "_preflight",
        "_refused",
        "_request_id",
        "body",
        "choice",
        "execution",
        "form",
        "operation",
        "request",
    )

    service: Literal["gateway"] = "gateway"
    max_body_bytes = MAX_DOCUMENT_BYTES + _FRAMING

    def __init__(self, gateway: S3Gateway, request: Request, request_id: str, client: str) -> None:
        self._gateway = gateway
        self._client = client
        self._request_id = request_id
        self.request = request
        self.operation = "unknown"
        self.body = BodyKind.NONE
        self.execution = Execution.POOLED
        self.form = False
        self._cors = gateway.cors.headers(request.headers)
        self._call: Call | None = None
        self._preflight: Response | None = None
        self._audit: RequestAudit | None = None
        self._error: AnabranchError | None = None
        self._refused = False
        try:
            if request.method == PREFLIGHT:
                self.operation, self.execution = "Preflight", Execution.INLINE
                self._preflight = gateway.cors.preflight(request.headers)
                return
            self._carried, self.choice = self._choose(request)
        except AnabranchError as error:
            self._error = error
        else:
            self.operation = self.choice.operation.id
            self.body = self.choice.operation.body
            self.execution = self.choice.operation.execution
            self.form = self.choice.operation.form
        self._audit = gateway.audit(self.operation, client, request_id)

    @property
    def user(self) -> str:
        """The name of the user, once the request is authenticated."""
        return "" if self._call is None else self._call.actor.username

    @property
    def admits_first(self) -> bool:
        """Whether `admit` is called before any of the body is taken."""
        return self.body is BodyKind.WHOLE or _EXPECT in self.request.headers

    @property
    def is_enough(self) -> Callable[[bytes], bool] | None:
        """Returns whether the beginning of a form reaches its file; None if it is not a form."""
        return self._reaches_file if self.form else None

    def respond_early(self) -> Response | None:
        """Returns None: errors are reported in the order in which S3 does."""
        return None

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response; what has no type is XML."""
        first = [("x-amz-request-id", self._request_id), ("x-amz-id-2", self._request_id)]
        headers = response.all_headers(
            first, response.content_type or (XML if response.body else "")
        )
        headers += self._cors
        return headers

    def admit(self) -> Response | None:
        """Returns the response that refuses the request, or that to a preflight request; None if
        the request is authorized. It is called before any of the body is read; a form is authorized
        later.
        """
        if self._preflight is not None:
            return self._preflight
        if self._call is None and not self._refused and not self.form:
            try:
                if self._error is None:
                    self._call = self._gateway.admit(
                        self.request, self._carried, self.choice, self._client, self._audit
                    )
                elif self._is_authenticated_first(self._error):
                    self._gateway.authenticator.authenticate(
                        self.request, self._client, self._audit
                    )
            except Exception as error:  # noqa: BLE001  the client gets a response for every error
                self._error = self._to_error(error)
            self._refused = self._error is not None
        return None if self._error is None else self.respond_to_error(self._error)

    def respond(self, content: Iterable[bytes] = ()) -> Response:
        """Returns the response; never raises. `content` is the body, if the operation has one."""
        response = self._respond(content)
        audit = self._audit
        if audit is not None and audit.user and self.request.method not in _READING:
            audit.changed(response.status)
        return response

    def _respond(self, content: Iterable[bytes]) -> Response:
        refused = self._admit_form(content) if self.form else self.admit()
        if refused is not None or self._call is None:
            return refused or self.respond_to_error(S3Error("InternalError"))
        if not self.form:
            self._call.content = content
        try:
            if self.request.method in _READING:
                response = self.choice.operation.handler(self._call)
            else:
                caller = self._call.actor.as_caller(self.choice.operation.id, self._request_id)
                with acting_as(caller):
                    response = self.choice.operation.handler(self._call)
        except Exception as error:  # noqa: BLE001  as above
            return self.respond_to_error(self._to_error(error))
        note_reads(self.choice.operation, self._call)
        return response

    def _reaches_file(self, begun: bytes) -> bool:
        return reaches_file(self.request.headers.get("content-type", ""), begun)

    def _admit_form(self, content: Iterable[bytes]) -> Response | None:
        try:
            self._call = self._gateway.admit_form(
                self._carried, self.choice, content, self._client, self._audit
            )
        except Exception as error:  # noqa: BLE001  as above
            return self.respond_to_error(self._to_error(error))
        return None

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response for an error."""
        if error.kind == "repository_not_found":
            # checked only here: a repository of an invalid name does not exist anyway
            address = self.choice.address
            if is_misdirected(self.request, address):
                error = S3Error("ErrNoSuchBucketPossibleAPIEndpoint")
            elif not is_bucket_name(address.bucket):
                error = S3Error("InvalidBucketName", BucketName=address.bucket)
        answer = error_response(
            error,
            resource=self.request.path,
            request_id=self._request_id,
            bodiless=self.request.method == "HEAD",
        )
        if isinstance(error, S3Error) and error.__cause__ is not None:
            answer.error = error.__cause__
        return answer

    def _is_authenticated_first(self, error: AnabranchError) -> bool:
        """Returns whether an error is reported to authenticated clients only. A form's signature
        is in its body, and a preflight request has none.
        """
        if error.kind in _BEFORE_SIGNATURE or self.request.method == PREFLIGHT:
            return False
        return not is_form(self.request.headers)

    def _to_error(self, error: Exception) -> AnabranchError:
        if isinstance(error, AnabranchError):
            return error
        internal = S3Error("InternalError")
        internal.__cause__ = error  # which is logged
        return internal

    def _choose(self, request: Request) -> tuple[Request, Choice]:
        """Returns the request with the headers in its URL, and the operation that it selects."""
        if sum(map(len, request.headers.values())) > _LONGEST_HEADERS:
            raise S3Error("RequestHeaderSectionTooLarge")
        bucket = self._gateway.bucket(request.headers.get("host", ""))
        if bucket:
            self.request = request = Request(
                method=request.method,
                path=request.path,
                query=request.query,
                headers=request.headers,
                bucket=bucket,
            )
        address = parse_address(request.path, bucket)
        query = parse_parameters(request.query) if request.query else {}
        carried = with_presigned_headers(request)
        try:
            choice = choose(carried, address, query)
        except S3Error as error:
            if not is_misdirected(request, address):
                raise
            choice = Choice(refusal(error), address, query)
        return carried, choice
