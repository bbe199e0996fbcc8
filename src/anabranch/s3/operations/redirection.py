"""Reading, sent on to the object store: to clients that ask for it, bytes do not pass by here.

A client says so by a word in its User-Agent, as with lakeFS. It is answered with the store's own
URL, where that signs any, and must come there without its headers of Authorization.
"""

from __future__ import annotations

from anabranch.catalog.objects import OpenObject
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.payloads.checksums import PREFIX

__all__ = ["redirection"]

_WORD = "s3RedirectionSupport"
_TEMPORARY_REDIRECT = 307
_ANSWERED_HERE = ("response-", "partNumber")
"""Parameters that change the answer, which the store would not know of."""

_OF_THE_OBJECT = frozenset({"Accept-Ranges", "Cache-Control", "Content-Range", "Expires"})
"""Headers of the body that the store sends; so are those of checksums."""


def redirection(call: Call, found: OpenObject, answer: Answer) -> Answer | None:
    """Returns the answer that sends a client to the store for an object's bytes, with the headers
    of the `answer` that it stands for; None where the client, or the store, has no such thing.
    """
    if _WORD not in call.header("user-agent"):
        return None
    if any(name.startswith(_ANSWERED_HERE) for name in call.query):
        return None
    if found.pinned_etag:
        return None  # it is read here, where that is looked at
    url = call.services.catalog.presigning.direct(found.physical_address)
    if url is None:
        return None
    # a URL ends, so it must not be kept as long as the object may be
    kept = [
        (name, value)
        for name, value in answer.headers
        if name not in _OF_THE_OBJECT and not name.startswith(PREFIX)
    ]
    return Answer(
        _TEMPORARY_REDIRECT, headers=[*kept, ("Location", url), ("Cache-Control", "no-store")]
    )
