"""Access keys of users."""

from __future__ import annotations

import msgspec

from anabranch.access.credentials.credentials import AccessKey
from anabranch.access.policies.permissions import Action
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_user
from anabranch.rest.schemas.credentials import CredentialsWithSecret, credentials_with_secret
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS"]


class Credentials(msgspec.Struct, frozen=True):
    """An access key; `creation_date` in seconds since 1970."""

    access_key_id: str
    creation_date: int


class CredentialsList(msgspec.Struct, frozen=True):
    """A page of access keys."""

    pagination: Pagination
    results: list[Credentials]


class OfUser(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a user's access keys."""

    user_id: str = msgspec.field(name="userId")


class OfAccessKey(OfUser, frozen=True, kw_only=True):
    """Parameters of operations on an access key."""

    access_key_id: str = msgspec.field(name="accessKeyId")


class PageOfUser(PageOf, frozen=True, kw_only=True):
    """Parameters of pages of a user's access keys."""

    user_id: str = msgspec.field(name="userId")


def list_user_credentials(call: Call[PageOfUser, None]) -> CredentialsList:
    """Returns a page of a user's access keys, without their secrets."""
    params = call.params
    page = call.services.access.credentials.page(
        params.user_id, params.prefix, params.after, page_amount(params.amount)
    )
    return CredentialsList(
        to_pagination(page, max_per_page=0), [_credentials(key) for key in page.items]
    )


def create_credentials(call: Call[OfUser, None]) -> CredentialsWithSecret:
    """Creates an access key; only this response contains its secret."""
    return credentials_with_secret(call.services.access.credentials.create(call.params.user_id))


def get_credentials(call: Call[OfAccessKey, None]) -> Credentials:
    """Returns an access key without its secret."""
    params = call.params
    return _credentials(call.services.access.credentials.get(params.user_id, params.access_key_id))


def delete_credentials(call: Call[OfAccessKey, None]) -> None:
    """Deletes an access key."""
    params = call.params
    call.services.access.credentials.delete(params.user_id, params.access_key_id)


def _credentials(key: AccessKey) -> Credentials:
    return Credentials(access_key_id=key.access_key_id, creation_date=key.issued_date)


_CREDENTIALS = "/auth/users/{userId}/credentials"
_ACCESS_KEY = _CREDENTIALS + "/{accessKeyId}"

OPERATIONS = (
    Operation(
        id="listUserCredentials",
        tag="auth",
        method="GET",
        path=_CREDENTIALS,
        summary="list user credentials",
        permission=(Need(Action.LIST_CREDENTIALS, on_user),),
        params=PageOfUser,
        response=CredentialsList,
        handler=list_user_credentials,
    ),
    Operation(
        id="createCredentials",
        tag="auth",
        method="POST",
        path=_CREDENTIALS,
        summary="create credentials",
        permission=(Need(Action.CREATE_CREDENTIALS, on_user),),
        params=OfUser,
        status=201,
        response=CredentialsWithSecret,
        handler=create_credentials,
    ),
    Operation(
        id="getCredentials",
        tag="auth",
        method="GET",
        path=_ACCESS_KEY,
        summary="get credentials",
        permission=(Need(Action.READ_CREDENTIALS, on_user),),
        params=OfAccessKey,
        response=Credentials,
        handler=get_credentials,
    ),
    Operation(
        id="deleteCredentials",
        tag="auth",
        method="DELETE",
        path=_ACCESS_KEY,
        summary="delete credentials",
        permission=(Need(Action.DELETE_CREDENTIALS, on_user),),
        params=OfAccessKey,
        status=204,
        handler=delete_credentials,
    ),
)
