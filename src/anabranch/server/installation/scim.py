"""The SCIM gateway that the settings configure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.access.access import Access
from anabranch.audit.log import AuditLog
from anabranch.errors import Invalid
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.server.config.settings import Auth

if TYPE_CHECKING:
    from anabranch.scim.gateway import ScimGateway

__all__ = ["open_scim"]


def open_scim(
    settings: Auth, keyvalue: KeyValueStore, access: Access, audit: AuditLog | None
) -> ScimGateway | None:
    """Returns the gateway, None if it is not enabled. Raises Invalid if its extra is missing."""
    token = settings.scim.token
    if not token:
        return None
    try:
        from anabranch.scim.gateway import ScimGateway  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("scim2_models", "pydantic")):
            raise
        raise Invalid(
            "auth.scim.token needs an extra that is not installed",
            kind="extra_missing",
            hint="pip install 'anabranch[scim]'",
        ) from None
    return ScimGateway(token, keyvalue, access, audit=audit)
