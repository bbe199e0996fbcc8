"""Users."""

from __future__ import annotations

from functools import partial

import msgspec

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.identities.users import User as ModelUser
from anabranch.access.policies.permissions import Action, Permission, user_arn
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_anything, on_new_user, on_user
from anabranch.rest.schemas.pagination import PageOf, page_amount, to_pagination
from anabranch.rest.schemas.users import User, UserList, to_user

__all__ = ["EXTENSIONS", "OPERATIONS"]


class UserCreation(Body, frozen=True, kw_only=True):
    """A user to create. There are no invitations by e-mail, so `invite_user` has no effect."""

    id: str
    invite_user: bool = False


class UserChange(Body, frozen=True, kw_only=True):
    """Whether the user may authenticate."""

    active: bool


class OfUser(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a user."""

    user_id: str = msgspec.field(name="userId")


def list_users(call: Call[PageOf, None]) -> UserList:
    """Returns a page of the users that the user may read."""
    params = call.params
    page = visible_items(
        partial(call.services.access.users.page, params.prefix),
        call.actor,
        lambda user: user.username,
        lambda name: Permission(Action.READ_USER, user_arn(name)),
        after=params.after,
        amount=page_amount(params.amount),
    )
    inactive = call.services.access.users.inactive_among([user.username for user in page.items])
    return UserList(
        to_pagination(page, max_per_page=0),
        [to_user(user, active=user.username not in inactive) for user in page.items],
    )


def create_user(call: Call[None, UserCreation]) -> User:
    """Creates a user, who has no permissions and no access key yet."""
    user = ModelUser(username=call.body.id, created_at=int(call.services.clock()))
    call.services.access.users.create(user)
    return to_user(user)


def get_user(call: Call[OfUser, None]) -> User:
    """Returns a user."""
    return _current(call)


def update_user(call: Call[OfUser, UserChange]) -> User:
    """Deactivates a user, whose access keys and sessions work no longer, or activates one, whose
    access keys work again.
    """
    users = call.services.access.users
    users.set_active(call.params.user_id, active=call.body.active)
    return _current(call)


def end_user_sessions(call: Call[OfUser, None]) -> None:
    """Ends all sessions of a user: tokens from logins are invalid from now on."""
    call.services.access.users.end_sessions(call.params.user_id)


def delete_user(call: Call[OfUser, None]) -> None:
    """Deletes a user with the user's access keys, memberships and attached policies."""
    call.services.access.users.delete(call.params.user_id)


def _current(call: Call[OfUser, None] | Call[OfUser, UserChange]) -> User:
    users = call.services.access.users
    user = users.get(call.params.user_id)
    return to_user(user, active=users.is_active(user.username))


_USERS = "/auth/users"
_USER = _USERS + "/{userId}"

OPERATIONS = (
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
)
EXTENSIONS = (
    Operation(
        id="updateUser",
        tag="auth",
        method="PATCH",
        path=_USER,
        summary="deactivate a user, or activate one",
        permission=(Need(Action.UPDATE_USER, on_user),),
        params=OfUser,
        body=UserChange,
        response=User,
        handler=update_user,
    ),
    Operation(
        id="endUserSessions",
        tag="auth",
        method="DELETE",
        path=_USER + "/sessions",
        summary="end all sessions of a user",
        permission=(Need(Action.UPDATE_USER, on_user),),
        params=OfUser,
        status=204,
        handler=end_user_sessions,
    ),
)
