"""A call of an operation of S3: what came over the wire, and who asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from anabranch.access.actor import Actor
from anabranch.s3.addressing import Address
from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.services import Services
from anabranch.s3.signatures.verified import Verified
from anabranch.s3.xml_reader import LARGEST, Element, read_xml
from anabranch.signing.request import Request

__all__ = ["Call"]

_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


class Call:
    """A call by someone who is known. `query` holds the first value of each parameter, `content`
    the body, once it is wanted; of a form that is its file, and `fields` are the others, by their
    names in lower case.
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
        """Returns a header's value, the empty string without one."""
        return self.request.headers.get(name, "")

    def payload(self, *, md5_elsewhere: bool = False) -> Payload:
        """Returns the body, to be read once and proven on the way. Raises S3Error."""
        return Payload(
            self.request.headers, self.content, self.verified, md5_elsewhere=md5_elsewhere
        )

    def delimited_payload(self, *, md5_elsewhere: bool = False) -> Payload:
        """Returns the body of a request that says where it ends: by its length, or by being sent
        in chunks (RFC 9112, section 6.3). Raises S3Error: MissingContentLength for another, and
        what `payload` raises.
        """
        payload = self.payload(md5_elsewhere=md5_elsewhere)
        if payload.length is None and "transfer-encoding" not in self.request.headers:
            raise S3Error("MissingContentLength")
        return payload

    def document(self, root: str, *, unsaid: tuple[str, ...] = ()) -> Element:
        """Returns the body as XML. Headers whose names begin with one of `unsaid` say nothing of
        it. Raises S3Error.
        """
        said = self.request.headers
        headers = {name: said[name] for name in said if not name.startswith(unsaid)}
        payload = Payload(headers, self.content, self.verified)
        if payload.length is None and "transfer-encoding" not in said:
            raise S3Error("MissingContentLength")
        return read_xml(payload.read(LARGEST), root)
