"""Users, their keys, and logging in. There is one user, as in lakeFS without an outside service
for authorization.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.access.credentials import Credential
from anabranch.access.permissions import Action
from anabranch.access.users import User as ModelUser
from anabranch.errors import NotFound
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.page import Page
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Need, Operation
from anabranch.rest.protocol.resources import on_anything, on_new_user, on_user
from anabranch.rest.protocol.responses import json_response
from anabranch.rest.protocol.session import session_cookie
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination

__all__ = [
    "OPERATIONS",
    "CredentialsWithSecret",
    "OfUser",
    "UserList",
    "credentials_with_secret",
    "to_user",
]


class User(msgspec.Struct, frozen=True):
    """A user on the wire; `creation_date` in seconds since 1970."""

    creation_date: int
    id: str
    email: str | UnsetType = UNSET
    friendly_name: str | UnsetType = UNSET


class UserList(msgspec.Struct, frozen=True):
    """A page of users."""

    pagination: Pagination
    results: list[User]


class CurrentUser(msgspec.Struct, frozen=True):
    """The authenticated user."""

    user: User


class UserCreation(msgspec.Struct, frozen=True, kw_only=True):
    """A user to create."""

    id: str


class Credentials(msgspec.Struct, frozen=True):
    """An access key; `creation_date` in seconds since 1970."""

    access_key_id: str
    creation_date: int


class CredentialsWithSecret(msgspec.Struct, frozen=True):
    """An access key with its secret; `creation_date` in seconds since 1970."""

    access_key_id: str
    creation_date: int
    secret_access_key: str


class LoginInformation(msgspec.Struct, frozen=True, kw_only=True):
    """A key pair to log in with."""

    access_key_id: str
    secret_access_key: str


class AuthenticationToken(msgspec.Struct, frozen=True):
    """A token; `token_expiration` in seconds since 1970."""

    token: str
    token_expiration: int


class AuthCapabilities(msgspec.Struct, frozen=True):
    """Capabilities of the administration pages."""

    invite_user: bool


class OfUser(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a user."""

    user_id: str = msgspec.field(name="userId")


class OfAccessKey(OfUser, frozen=True, kw_only=True):
    """Parameters of operations on an access key."""

    access_key_id: str = msgspec.field(name="accessKeyId")


def credentials_with_secret(credential: Credential) -> CredentialsWithSecret:
    """Returns the schema of a new credential; its secret is shown only once."""
    return CredentialsWithSecret(
        access_key_id=credential.access_key_id,
        creation_date=credential.issued_date,
        secret_access_key=credential.secret.reveal(),
    )


def get_current_user(call: Call[None, None]) -> CurrentUser:
    """Returns the authenticated user; an anonymous request gets a user without a name."""
    if call.actor is None:
        return CurrentUser(User(creation_date=0, id=""))
    return CurrentUser(to_user(call.services.access.users.get(call.actor.username)))


def login(call: Call[None, LoginInformation]) -> Response:
    """Returns a token for a key pair, and sets it as the cookie of the web pages."""
    body = call.body
    issued = call.services.access.authenticator.login(body.access_key_id, body.secret_access_key)
    token = issued.token.reveal()
    lifetime = max(0, issued.expires_at - int(call.services.clock()))
    return json_response(
        200,
        AuthenticationToken(token=token, token_expiration=issued.expires_at),
        [session_cookie(token, lifetime, secure=call.request.secure)],
    )


def get_auth_capabilities(_: Call[None, None]) -> AuthCapabilities:
    """Returns the capabilities of the administration pages."""
    return AuthCapabilities(invite_user=False)


def oauth_callback(_: Call[None, None]) -> None:
    """Does nothing: there are no external logins."""


def list_users(call: Call[PageOf, None]) -> UserList:
    """Returns a page of users."""
    params = call.params
    amount = page_amount(params.amount)
    users = sorted(
        (
            user
            for user in call.services.access.users.all()
            if user.username.startswith(params.prefix) and user.username > params.after
        ),
        key=lambda user: user.username.encode(),
    )
    page = Page(users[:amount], has_more=len(users) > amount)
    return UserList(
        pagination=to_pagination(page, max_per_page=0),
        results=[to_user(user) for user in page.items],
    )


def create_user(call: Call[None, UserCreation]) -> User:
    """Creates the user, if there is none."""
    user = ModelUser(username=call.body.id, created_at=int(call.services.clock()))
    call.services.access.users.create(user)
    call.services.access.changed()
    return to_user(user)


def get_user(call: Call[OfUser, None]) -> User:
    """Returns a user."""
    return to_user(call.services.access.users.get(call.params.user_id))


def delete_user(call: Call[OfUser, None]) -> None:
    """Raises Conflict for the only user, NotFound for any other."""
    call.services.access.users.delete(call.params.user_id)


def create_credentials(call: Call[OfUser, None]) -> CredentialsWithSecret:
    """Creates an access key, if the user has none."""
    user = call.services.access.users.get(call.params.user_id)
    return credentials_with_secret(call.services.access.credentials.create(user.username))


def get_credentials(call: Call[OfAccessKey, None]) -> Credentials:
    """Returns an access key without its secret."""
    credential = call.services.access.credentials.find(call.params.access_key_id)
    if credential is None or credential.username != call.params.user_id:
        raise NotFound("credentials not found", kind="credentials_not_found")
    return Credentials(access_key_id=credential.access_key_id, creation_date=credential.issued_date)


def to_user(user: ModelUser) -> User:
    """Returns the schema of a user."""
    return User(
        creation_date=user.created_at,
        id=user.username,
        email=user.email,
        friendly_name=user.friendly_name,
    )


_USERS = "/auth/users"
_USER = _USERS + "/{userId}"

OPERATIONS = (
    Operation(
        id="getCurrentUser",
        tag="auth",
        method="GET",
        path="/user",
        summary="get current user",
        permission=Access.ANYONE,
        response=CurrentUser,
        execution=Execution.INLINE,
        handler=get_current_user,
    ),
    Operation(
        id="login",
        tag="auth",
        method="POST",
        path="/auth/login",
        summary="perform a login",
        permission=Access.NO_AUTH,
        body=LoginInformation,
        response=AuthenticationToken,
        handler=login,
    ),
    Operation(
        id="oauthCallback",
        tag="auth",
        method="GET",
        path="/oidc/callback",
        summary="come back from a login elsewhere, which does not exist here",
        permission=Access.NO_AUTH,
        execution=Execution.INLINE,
        handler=oauth_callback,
    ),
    Operation(
        id="getAuthCapabilities",
        tag="internal",
        method="GET",
        path="/auth/capabilities",
        summary="list authentication capabilities supported",
        permission=Access.NO_AUTH,
        response=AuthCapabilities,
        execution=Execution.INLINE,
        handler=get_auth_capabilities,
    ),
    Operation(
        id="listUsers",
        tag="auth",
        method="GET",
        path=_USERS,
        summary="list users",
        permission=(Need(Action.LIST_USERS, on_anything),),
        params=PageOf,
        response=UserList,
        handler=list_users,
    ),
    Operation(
        id="createUser",
        tag="auth",
        method="POST",
        path=_USERS,
        summary="create user",
        permission=(Need(Action.CREATE_USER, on_new_user),),
        body=UserCreation,
        status=201,
        response=User,
        handler=create_user,
    ),
    Operation(
        id="getUser",
        tag="auth",
        method="GET",
        path=_USER,
        summary="get user",
        permission=(Need(Action.READ_USER, on_user),),
        params=OfUser,
        response=User,
        handler=get_user,
    ),
    Operation(
        id="deleteUser",
        tag="auth",
        method="DELETE",
        path=_USER,
        summary="delete user",
        permission=(Need(Action.DELETE_USER, on_user),),
        params=OfUser,
        status=204,
        handler=delete_user,
    ),
    Operation(
        id="createCredentials",
        tag="auth",
        method="POST",
        path=_USER + "/credentials",
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
        path=_USER + "/credentials/{accessKeyId}",
        summary="get credentials",
        permission=(Need(Action.READ_CREDENTIALS, on_user),),
        params=OfAccessKey,
        response=Credentials,
        handler=get_credentials,
    ),
)
