"""What the service says about itself (RFC 7644, section 4)."""

from __future__ import annotations

from typing import Any

from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    ETag,
    Filter,
    Meta,
    NotFoundException,
    Patch,
    Resource,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
)

from anabranch.scim.resources import MAX_RESULTS, POLICY, Group, User

__all__ = ["PROVIDER", "describe", "described_all", "is_discovery"]

_CONFIG = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MAX_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=True),
    etag=ETag(supported=False),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="Bearer token",
            description="The token of the setting auth.scim.token",
            primary=True,
        )
    ],
)
PROVIDER = ScimProvider(models=[User, Group], config=_CONFIG, policy=POLICY)
"""The resources of the service."""

_KINDS = {"Schemas": "Schema", "ResourceTypes": "ResourceType"}


def is_discovery(kind: str) -> bool:
    """Returns whether a segment of a path names resources of this module."""
    return kind == "ServiceProviderConfig" or kind in _KINDS


def describe(kind: str, name: str, base: str) -> Resource[Any]:
    """Returns a schema, a resource type, or the configuration; raises NotFoundException."""
    if kind == "ServiceProviderConfig":
        if name:
            raise NotFoundException(detail="there is no such resource")
        return _add_location(_CONFIG, kind, f"{base}/{kind}")
    for resource in described_all(kind, base):
        if (resource.id or getattr(resource, "name", "")) == name:
            return resource
    raise NotFoundException(detail="there is no such resource")


def described_all(kind: str, base: str) -> list[Resource[Any]]:
    """Returns all schemas or resource types."""
    resources: Any = PROVIDER.schemas if kind == "Schemas" else PROVIDER.resource_types
    return [
        _add_location(resource, _KINDS[kind], f"{base}/{kind}/{resource.id or resource.name}")
        for resource in resources
    ]


def _add_location(resource: Resource[Any], kind: str, location: str) -> Resource[Any]:
    copied = resource.model_copy(deep=True)
    copied.meta = Meta(resource_type=kind, location=location)
    return copied
