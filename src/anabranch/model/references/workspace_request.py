"""What a workspace is made from, as its creator asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from anabranch.errors import Invalid
from anabranch.patterns.path_patterns import path_pattern

__all__ = ["DEFAULT_SECONDS", "MAX_SECONDS", "WorkspaceRequest", "check_request"]

DEFAULT_SECONDS = 24 * 3600
MAX_SECONDS = 366 * 24 * 3600
_MAX_PATTERNS = 100
_MAX_CHARACTERS = 4096
_MAX_METADATA = 100


class WorkspaceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace to create at a reference. It ends after `seconds`. Without `readable` patterns,
    its keys read all paths; without `writable` ones, they write none. `branch` is its name, by
    default a random one. `run_id` names the run that it is for, in a scheduler or a log.
    """

    source: str
    seconds: int = DEFAULT_SECONDS
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    purpose: str = ""
    run_id: str = ""
    metadata: Mapping[str, str] = MappingProxyType({})
    branch: str = ""


def check_request(request: WorkspaceRequest) -> None:
    """Raises Invalid for a request that no workspace can be made from."""
    if not 0 < request.seconds <= MAX_SECONDS:
        raise Invalid(
            f"a workspace ends after at most {MAX_SECONDS} seconds, not {request.seconds}",
            kind="invalid_workspace",
            hint="Its time can be extended later: anabranch branch expire.",
        )
    for name in ("readable", "writable"):
        patterns = getattr(request, name)
        if len(patterns) > _MAX_PATTERNS:
            raise Invalid(
                f"{name} has more than {_MAX_PATTERNS} patterns", kind="invalid_workspace"
            )
        for text in patterns:
            path_pattern(text)
            if not text or text.startswith("/"):
                raise Invalid(
                    f"{text!r} in {name} matches no path",
                    kind="invalid_workspace",
                    hint="Paths are relative: write out/**.",
                )
    texts = {"purpose": request.purpose, "run_id": request.run_id}
    texts |= {f"the key {key!r} of metadata": value for key, value in request.metadata.items()}
    for name, text in texts.items():
        if len(text) > _MAX_CHARACTERS:
            raise Invalid(
                f"{name} has more than {_MAX_CHARACTERS} characters", kind="invalid_workspace"
            )
    if len(request.metadata) > _MAX_METADATA:
        raise Invalid(f"metadata has more than {_MAX_METADATA} keys", kind="invalid_workspace")
