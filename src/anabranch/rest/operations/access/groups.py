"""Groups: their members and policies."""

from __future__ import annotations

from functools import partial

import msgspec

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.identities.groups import Group as ModelGroup
from anabranch.access.policies.permissions import Action, Permission, group_arn
from anabranch.model.page import Page
from anabranch.rest.operations.access.policies import PolicyList, to_policies
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_anything, on_group, on_new_group, on_user
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination
from anabranch.rest.schemas.users import UserList, to_user

__all__ = ["OPERATIONS"]


class Group(msgspec.Struct, frozen=True):
    """A group on the wire; `creation_date` in seconds since 1970."""

    id: str
    name: str
    description: str
    creation_date: int


class GroupList(msgspec.Struct, frozen=True):
    """A page of groups."""

    pagination: Pagination
    results: list[Group]


class GroupCreation(Body, frozen=True, kw_only=True):
    """A group to create."""

    id: str
    description: str = ""


class OfGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a group."""

    group_id: str = msgspec.field(name="groupId")


class PageOfGroup(PageOf, frozen=True, kw_only=True):
    """Parameters of pages of what belongs to a group."""

    group_id: str = msgspec.field(name="groupId")


class OfMember(OfGroup, frozen=True, kw_only=True):
    """Parameters of operations on a membership."""

    user_id: str = msgspec.field(name="userId")


class OfGroupPolicy(OfGroup, frozen=True, kw_only=True):
    """Parameters of operations on a policy of a group."""

    policy_id: str = msgspec.field(name="policyId")


class GroupsOfUser(PageOf, frozen=True, kw_only=True):
    """Parameters of pages of a user's groups."""

    user_id: str = msgspec.field(name="userId")


def list_groups(call: Call[PageOf, None]) -> GroupList:
    """Returns a page of the groups that the user may read."""
    params = call.params
    page = visible_items(
        partial(call.services.access.groups.page, params.prefix),
        call.actor,
        lambda group: group.id,
        lambda name: Permission(Action.READ_GROUP, group_arn(name)),
        after=params.after,
        amount=page_amount(params.amount),
    )
    return _groups(page)


def create_group(call: Call[None, GroupCreation]) -> Group:
    """Creates a group."""
    body = call.body
    group = ModelGroup(
        id=body.id, created_at=int(call.services.clock()), description=body.description
    )
    call.services.access.groups.create(group)
    return _group(group)


def get_group(call: Call[OfGroup, None]) -> Group:
    """Returns a group."""
    return _group(call.services.access.groups.get(call.params.group_id))


def delete_group(call: Call[OfGroup, None]) -> None:
    """Deletes a group, its memberships and attachments."""
    call.services.access.groups.delete(call.params.group_id)


def list_group_members(call: Call[PageOfGroup, None]) -> UserList:
    """Returns a page of the members of a group."""
    params, access = call.params, call.services.access
    names = access.memberships.page(
        params.group_id, params.prefix, params.after, page_amount(params.amount)
    )
    users = access.users.find_many(names.items)
    present = [to_user(user) for user in users if user is not None]
    return UserList(_pagination(names, len(present)), present)


def add_group_membership(call: Call[OfMember, None]) -> None:
    """Adds a user to a group."""
    call.services.access.memberships.add(call.params.group_id, call.params.user_id)


def delete_group_membership(call: Call[OfMember, None]) -> None:
    """Removes a user from a group."""
    call.services.access.memberships.remove(call.params.group_id, call.params.user_id)


def list_group_policies(call: Call[PageOfGroup, None]) -> PolicyList:
    """Returns a page of the policies of a group."""
    params, access = call.params, call.services.access
    names = access.group_attachments.page(
        params.group_id, params.prefix, params.after, page_amount(params.amount)
    )
    return to_policies(names, access.policies.find_many(names.items))


def attach_policy_to_group(call: Call[OfGroupPolicy, None]) -> None:
    """Attaches a policy to a group."""
    call.services.access.group_attachments.add(call.params.group_id, call.params.policy_id)


def detach_policy_from_group(call: Call[OfGroupPolicy, None]) -> None:
    """Detaches a policy from a group."""
    call.services.access.group_attachments.remove(call.params.group_id, call.params.policy_id)


def list_user_groups(call: Call[GroupsOfUser, None]) -> GroupList:
    """Returns a page of a user's groups."""
    params, access = call.params, call.services.access
    access.users.get(params.user_id)
    amount = page_amount(params.amount)
    names = [
        name
        for name in access.effective_policies.groups_of(params.user_id)
        if name.startswith(params.prefix) and name.encode() > params.after.encode()
    ]
    groups = [group for group in access.groups.find_many(names[:amount]) if group is not None]
    has_more = len(names) > amount
    return _groups(Page(groups, has_more, names[amount - 1] if has_more else ""))


def _group(group: ModelGroup) -> Group:
    return Group(
        id=group.id,
        name=group.id,
        description=group.description,
        creation_date=group.created_at,
    )


def _groups(page: Page[ModelGroup]) -> GroupList:
    return GroupList(to_pagination(page, max_per_page=0), [_group(group) for group in page.items])


def _pagination(names: Page[str], results: int) -> Pagination:
    return Pagination(
        has_more=names.has_more, max_per_page=0, next_offset=names.next_offset, results=results
    )


_GROUPS = "/auth/groups"
_GROUP = _GROUPS + "/{groupId}"
_MEMBER = _GROUP + "/members/{userId}"
_POLICY = _GROUP + "/policies/{policyId}"

OPERATIONS = (
    Operation(
        id="listGroups",
        tag="auth",
        method="GET",
        path=_GROUPS,
        summary="list groups",
        permission=(Need(Action.LIST_GROUPS, on_anything),),
        params=PageOf,
        response=GroupList,
        handler=list_groups,
    ),
    Operation(
        id="createGroup",
        tag="auth",
        method="POST",
        path=_GROUPS,
        summary="create group",
        permission=(Need(Action.CREATE_GROUP, on_new_group),),
        body=GroupCreation,
        status=201,
        response=Group,
        handler=create_group,
    ),
    Operation(
        id="getGroup",
        tag="auth",
        method="GET",
        path=_GROUP,
        summary="get group",
        permission=(Need(Action.READ_GROUP, on_group),),
        params=OfGroup,
        response=Group,
        handler=get_group,
    ),
    Operation(
        id="deleteGroup",
        tag="auth",
        method="DELETE",
        path=_GROUP,
        summary="delete group",
        permission=(Need(Action.DELETE_GROUP, on_group),),
        params=OfGroup,
        status=204,
        handler=delete_group,
    ),
    Operation(
        id="listGroupMembers",
        tag="auth",
        method="GET",
        path=_GROUP + "/members",
        summary="list group members",
        permission=(Need(Action.READ_GROUP, on_group),),
        params=PageOfGroup,
        response=UserList,
        handler=list_group_members,
    ),
    Operation(
        id="addGroupMembership",
        tag="auth",
        method="PUT",
        path=_MEMBER,
        summary="add group membership",
        permission=(Need(Action.ADD_GROUP_MEMBER, on_group),),
        params=OfMember,
        status=201,
        handler=add_group_membership,
    ),
    Operation(
        id="deleteGroupMembership",
        tag="auth",
        method="DELETE",
        path=_MEMBER,
        summary="delete group membership",
        permission=(Need(Action.REMOVE_GROUP_MEMBER, on_group),),
        params=OfMember,
        status=204,
        handler=delete_group_membership,
    ),
    Operation(
        id="listGroupPolicies",
        tag="auth",
        method="GET",
        path=_GROUP + "/policies",
        summary="list group policies",
        permission=(Need(Action.READ_GROUP, on_group),),
        params=PageOfGroup,
        response=PolicyList,
        handler=list_group_policies,
    ),
    Operation(
        id="attachPolicyToGroup",
        tag="auth",
        method="PUT",
        path=_POLICY,
        summary="attach policy to group",
        permission=(Need(Action.ATTACH_POLICY, on_group),),
        params=OfGroupPolicy,
        status=201,
        handler=attach_policy_to_group,
    ),
    Operation(
        id="detachPolicyFromGroup",
        tag="auth",
        method="DELETE",
        path=_POLICY,
        summary="detach policy from group",
        permission=(Need(Action.DETACH_POLICY, on_group),),
        params=OfGroupPolicy,
        status=204,
        handler=detach_policy_from_group,
    ),
    Operation(
        id="listUserGroups",
        tag="auth",
        method="GET",
        path="/auth/users/{userId}/groups",
        summary="list user groups",
        permission=(Need(Action.READ_USER, on_user),),
        params=GroupsOfUser,
        response=GroupList,
        handler=list_user_groups,
    ),
)
