"""A call of an S3 operation: the request and its authenticated caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from anabranch.access.actors.actor import Actor
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import MAX_DOCUMENT_BYTES, Element, read_xml
from anabranch.s3.services import Services
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.request import Request

__all__ = ["Call"]

_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


class Call:
    """A request with an authenticated caller. `query` holds the first value of each parameter and
    `content` the body, once it is read. For a form, `content` is its file and `fields` holds the
    other fields by their lower-case names.
    """

    __slots__ = (
        "actor",
        "address",
        "content",
        "fields",
        "query",
        "request",
        "services",
        "verified",
    )

    def __init__(
        self,
        services: Services,
        request: Request,
        address: Address,
        query: Mapping[str, str],
        actor: Actor,
        verified: Verified | None,
    ) -> None:
        self.services = services
        self.request = request
        self.address = address
        self.query = query
        self.content: Iterable[bytes] = ()
        self.fields: Mapping[str, str] = _NO_FIELDS
        self.actor = actor
        self.verified = verified

    def header(self, name: str) -> str:
        """Returns a header's value, an empty string if it is absent."""
        return self.request.headers.get(name, "")

    def payload(self, *, defer_md5: bool = False) -> Payload:
        """Returns the body, to be read once; reading verifies it. Raises S3Error."""
        return Payload(self.request.headers, self.content, self.verified, defer_md5=defer_md5)

    def delimited_payload(self, *, defer_md5: bool = False) -> Payload:
        """Returns the body of a request that declares its end, by its length or by chunked transfer
        encoding (RFC 9112, section 6.3). Raises S3Error: MissingContentLength for other requests,
        and what `payload` raises.
        """
        payload = self.payload(defer_md5=defer_md5)
        if payload.length is None and "transfer-encoding" not in self.request.headers:
            raise S3Error("MissingContentLength")
        return payload

    def document(self, root: str, *, ignored_headers: tuple[str, ...] = ()) -> Element:
        """Returns the root element of the body, an XML document. Headers whose names begin with one
        of `ignored_headers` do not describe the body. Raises S3Error.
        """
        request_headers = self.request.headers
        headers = {
            name: request_headers[name]
            for name in request_headers
            if not name.startswith(ignored_headers)
        }
        payload = Payload(headers, self.content, self.verified)
        if payload.length is None and "transfer-encoding" not in request_headers:
            raise S3Error("MissingContentLength")
        return read_xml(payload.read(MAX_DOCUMENT_BYTES), root)
