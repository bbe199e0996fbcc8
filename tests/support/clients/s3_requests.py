"""Hypothesis strategies for S3 requests that are still to be signed."""

from __future__ import annotations

import re
import string
from typing import NamedTuple
from urllib.parse import quote

from hypothesis import strategies as st

__all__ = ["Draft", "drafts", "odd_keys"]

_ODD = " /+%-_.~!*'();:@&=$,?#[]\\^`|{}<>\"\x7fé漢😀"
_PLAIN = string.ascii_letters + string.digits
_QUESTIONS = ("prefix", "delimiter", "list-type", "x-id")
_PARTS = ("acl", "partNumber", "response-content-type", "uploadId", "uploads", "versionId")
# names of parameters that are part of a signature, or headers in a URL of version 2
_OF_SIGNATURES = re.compile(
    r"x-amz-|content-(md5|type)$|signature$|expires$|awsaccesskeyid$", re.IGNORECASE
)
_HEADERS = ("cache-control", "content-md5", "content-type", "if-match", "range")
_METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD")


class Draft(NamedTuple):
    """A request to be signed: the path in `url` is encoded, the `query` is not."""

    method: str = "GET"
    url: str = "http://lake.example:8000/repo/main/a"
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    region: str = "us-east-1"
    token: str | None = None

    @property
    def full_url(self) -> str:
        """The URL with its query; a parameter without a value has no `=`."""
        parts = [
            quote(name, safe="") + (f"={quote(value, safe='')}" if value else "")
            for name, value in self.query
        ]
        return f"{self.url}?{'&'.join(parts)}" if parts else self.url


def odd_keys(max_size: int = 24) -> st.SearchStrategy[str]:
    """Draws keys with all that clients, encodings and proxies have stumbled over."""
    return st.text(st.sampled_from(_PLAIN + _ODD * 2), max_size=max_size)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Draws a request as an S3 client might want to send it."""
    hosts = ("lake.example", "lake.example:8000", "[::1]:8000", "repo.s3.local")
    names = odd_keys(8).filter(lambda text: text.strip() and not _OF_SIGNATURES.match(text))
    values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)
    metadata = st.text(_PLAIN.lower() + "-", min_size=1, max_size=8).map("x-amz-meta-{}".format)
    return Draft(
        method=draw(st.sampled_from(_METHODS)),
        url=f"http://{draw(st.sampled_from(hosts))}/{quote(draw(odd_keys()), safe='/')}",
        query=tuple(
            draw(
                st.dictionaries(
                    st.one_of(st.sampled_from(_QUESTIONS + _PARTS), names), odd_keys(8), max_size=4
                )
            ).items()
        ),
        headers=tuple(
            draw(
                st.dictionaries(st.one_of(st.sampled_from(_HEADERS), metadata), values, max_size=4)
            ).items()
        ),
        body=draw(st.binary(max_size=40)),
        region=draw(st.sampled_from(("us-east-1", "eu-central-2", "aws-global", "x"))),
        token=draw(st.none() | st.text(_PLAIN + "+/=", min_size=1, max_size=20)),
    )
