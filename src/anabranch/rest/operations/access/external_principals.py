"""Principals of other systems: whose they are, and logins with identities of AWS."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.access.aws_identity import identity_token, principals_of
from anabranch.access.identities.external_principals import ExternalPrincipal as ModelPrincipal
from anabranch.access.identities.external_principals import Settings
from anabranch.access.policies.permissions import Action
from anabranch.errors import AnabranchError, NotSupported, Unauthenticated
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Need, Operation
from anabranch.rest.protocol.resources import on_external_principal, on_user
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination
from anabranch.rest.schemas.tokens import (
    DEFAULT_SECONDS,
    LONGEST_SECONDS,
    AuthenticationToken,
)

__all__ = ["OPERATIONS"]


class ExternalLoginInformation(Body, frozen=True, kw_only=True):
    """A proof of identity, and the wanted lifetime of the token in seconds."""

    identity_request: dict[str, Any] = msgspec.field(name="identityRequest")
    token_expiration_duration: int = DEFAULT_SECONDS


class ExternalPrincipal(msgspec.Struct, frozen=True):
    """A principal and its user; `settings` as they were given."""

    id: str
    user_id: str
    settings: Settings | UnsetType = UNSET


class ExternalPrincipalList(msgspec.Struct, frozen=True):
    """A page of principals."""

    pagination: Pagination
    results: list[ExternalPrincipal]


class ExternalPrincipalCreation(Body, frozen=True, kw_only=True):
    """Settings of a new principal."""

    settings: Settings | None = None


class OfPrincipal(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a principal."""

    principal_id: str = msgspec.field(name="principalId")


class OfUserPrincipal(OfPrincipal, frozen=True, kw_only=True):
    """Parameters of operations on a user's principal."""

    user_id: str = msgspec.field(name="userId")


class PageOfUser(PageOf, frozen=True, kw_only=True):
    """Parameters of pages of a user's principals."""

    user_id: str = msgspec.field(name="userId")


def external_principal_login(call: Call[None, ExternalLoginInformation]) -> AuthenticationToken:
    """Returns a token of the user to whom an identity of AWS belongs."""
    services, audit = call.services, call.request.audit
    if services.aws_identities is None:
        raise NotSupported("Not Implemented", kind="not_implemented")
    try:
        arn = services.aws_identities.verify(identity_token(call.body.identity_request))
        login = services.access.external_principals.find_login(principals_of(arn))
        if login is None:
            raise Unauthenticated(
                f"the principal {arn} belongs to no user", kind="unknown_external_principal"
            )
    except AnabranchError as error:
        if audit is not None:
            audit.refused(error.kind)
        raise
    lifetime = min(max(call.body.token_expiration_duration, 1), LONGEST_SECONDS)
    issued = services.access.tokens.issue(*login, lifetime)
    if audit is not None:
        audit.logged_in(issued.username)
    return AuthenticationToken(token=issued.token.reveal(), token_expiration=issued.expires_at)


def get_external_principal(call: Call[OfPrincipal, None]) -> ExternalPrincipal:
    """Returns a principal and its user."""
    return _principal(call.services.access.external_principals.get(call.params.principal_id))


def create_user_external_principal(
    call: Call[OfUserPrincipal, ExternalPrincipalCreation],
) -> None:
    """Gives a user a principal."""
    params = call.params
    settings = call.body.settings if call.body else None
    call.services.access.external_principals.add(params.user_id, params.principal_id, settings)


def delete_user_external_principal(call: Call[OfUserPrincipal, None]) -> None:
    """Takes a principal from a user."""
    params = call.params
    call.services.access.external_principals.remove(params.user_id, params.principal_id)


def list_user_external_principals(call: Call[PageOfUser, None]) -> ExternalPrincipalList:
    """Returns a page of a user's principals."""
    params = call.params
    page = call.services.access.external_principals.page(
        params.user_id, params.prefix, params.after, page_amount(params.amount)
    )
    return ExternalPrincipalList(
        to_pagination(page, max_per_page=0), [_principal(item) for item in page.items]
    )


def _principal(principal: ModelPrincipal) -> ExternalPrincipal:
    return ExternalPrincipal(principal.id, principal.username, principal.settings or UNSET)


_PRINCIPALS = "/auth/users/{userId}/external/principals"

OPERATIONS = (
    Operation(
        id="externalPrincipalLogin",
        tag="external",
        method="POST",
        path="/auth/external/principal/login",
        summary="log in with an identity of AWS",
        permission=Access.NO_AUTH,
        body=ExternalLoginInformation,
        response=AuthenticationToken,
        handler=external_principal_login,
    ),
    Operation(
        id="getExternalPrincipal",
        tag="external",
        method="GET",
        path="/auth/external/principals",
        summary="get an external principal",
        permission=(Need(Action.READ_EXTERNAL_PRINCIPAL, on_external_principal),),
        params=OfPrincipal,
        response=ExternalPrincipal,
        handler=get_external_principal,
    ),
    Operation(
        id="createUserExternalPrincipal",
        tag="external",
        method="POST",
        path=_PRINCIPALS,
        summary="give a user an external principal",
        permission=(Need(Action.CREATE_USER_EXTERNAL_PRINCIPAL, on_user),),
        params=OfUserPrincipal,
        body=ExternalPrincipalCreation,
        body_optional=True,
        status=201,
        handler=create_user_external_principal,
    ),
    Operation(
        id="deleteUserExternalPrincipal",
        tag="external",
        method="DELETE",
        path=_PRINCIPALS,
        summary="take an external principal from a user",
        permission=(Need(Action.DELETE_USER_EXTERNAL_PRINCIPAL, on_user),),
        params=OfUserPrincipal,
        status=204,
        handler=delete_user_external_principal,
    ),
    Operation(
        id="listUserExternalPrincipals",
        tag="external",
        method="GET",
        path=_PRINCIPALS + "/ls",
        summary="list the external principals of a user",
        permission=(Need(Action.READ_USER, on_user),),
        params=PageOfUser,
        response=ExternalPrincipalList,
        handler=list_user_external_principals,
    ),
)
