"""`auth groups`: groups, their members and policies, and their access control lists."""

from __future__ import annotations

from anabranch.cli.commands.auth.users import (
    GROUP_COLUMNS,
    POLICY_COLUMNS,
    USER_COLUMNS,
    add,
    names,
)
from anabranch.cli.framework.command import YES, Command, Option, listing_options
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMANDS"]

_ID = Option("--id", "Name of the group", "NAME", required=True)
_USER = Option("--user", "Name of the user", "NAME", required=True)
_POLICY = Option("--policy", "Name of the policy", "NAME", required=True)


def _list(context: CommandContext) -> None:
    names(context, GROUP_COLUMNS, "auth", "groups")


def _create(context: CommandContext) -> None:
    options = context.arguments
    body = {"id": options.id, "description": options.description}
    item = context.connection.send("POST", "auth", "groups", body=body)
    context.output.done(f"Created the group {options.id}", item)


def _delete(context: CommandContext) -> None:
    group = context.arguments.id
    context.confirm(f"Delete the group {group}?")
    context.connection.send("DELETE", "auth", "groups", group)
    context.output.done(f"Deleted the group {group}")


def _members(context: CommandContext) -> None:
    names(context, USER_COLUMNS, "auth", "groups", context.arguments.id, "members")


def _add(context: CommandContext) -> None:
    group, user = context.arguments.id, context.arguments.user
    done = f"Added the user {user} to the group {group}"
    add(context, done, "auth", "groups", group, "members", user)


def _remove(context: CommandContext) -> None:
    group, user = context.arguments.id, context.arguments.user
    context.connection.send("DELETE", "auth", "groups", group, "members", user)
    context.output.done(f"Removed the user {user} from the group {group}")


def _policies(context: CommandContext) -> None:
    names(context, POLICY_COLUMNS, "auth", "groups", context.arguments.id, "policies")


def _attach(context: CommandContext) -> None:
    group, policy = context.arguments.id, context.arguments.policy
    done = f"Attached the policy {policy} to the group {group}"
    add(context, done, "auth", "groups", group, "policies", policy)


def _detach(context: CommandContext) -> None:
    group, policy = context.arguments.id, context.arguments.policy
    context.connection.send("DELETE", "auth", "groups", group, "policies", policy)
    context.output.done(f"Detached the policy {policy} from the group {group}")


def _get_acl(context: CommandContext) -> None:
    group = context.arguments.id
    item = context.connection.get("auth", "groups", group, "acl")
    context.output.details([("group", group, "name"), ("permission", item["permission"], "")], item)


def _set_acl(context: CommandContext) -> None:
    group, permission = context.arguments.id, context.arguments.permission
    body = {"permission": permission}
    context.connection.send("POST", "auth", "groups", group, "acl", body=body)
    context.output.done(f"Gave the group {group} the permission {permission}")


COMMANDS = (
    Command(
        "groups list",
        "List groups",
        _list,
        options=listing_options("groups"),
        examples=("auth groups list",),
    ),
    Command(
        "groups create",
        "Create a group",
        _create,
        options=(
            _ID,
            Option("-d, --description", "What the group is for", "TEXT", default=""),
        ),
        examples=("auth groups create --id Analysts",),
    ),
    Command(
        "groups delete",
        "Delete a group",
        _delete,
        options=(_ID, YES),
        examples=("auth groups delete --id Analysts",),
    ),
    Command(
        "groups members list",
        "List the members of a group",
        _members,
        options=(_ID, *listing_options("members")),
        examples=("auth groups members list --id Analysts",),
    ),
    Command(
        "groups members add",
        "Add a user to a group",
        _add,
        options=(_ID, _USER),
        examples=("auth groups members add --id Analysts --user jane",),
    ),
    Command(
        "groups members remove",
        "Remove a user from a group",
        _remove,
        options=(_ID, _USER),
        examples=("auth groups members remove --id Analysts --user jane",),
    ),
    Command(
        "groups policies list",
        "List the policies of a group",
        _policies,
        options=(_ID, *listing_options("policies")),
        examples=("auth groups policies list --id Analysts",),
    ),
    Command(
        "groups policies attach",
        "Attach a policy to a group",
        _attach,
        options=(_ID, _POLICY),
        examples=("auth groups policies attach --id Analysts --policy FSReadAll",),
    ),
    Command(
        "groups policies detach",
        "Detach a policy from a group",
        _detach,
        options=(_ID, _POLICY),
        examples=("auth groups policies detach --id Analysts --policy FSReadAll",),
    ),
    Command(
        "groups acl get",
        "Show the permission of a group",
        _get_acl,
        options=(_ID,),
        examples=("auth groups acl get --id Analysts",),
    ),
    Command(
        "groups acl set",
        "Give a group a permission",
        _set_acl,
        options=(
            _ID,
            Option(
                "--permission",
                "What members may do",
                "PERMISSION",
                choices=("Read", "Write", "Super", "Admin"),
                required=True,
            ),
        ),
        details="Read: read all data. Write: also write it. Super: everything but to administer "
        "users. Admin: everything.",
        examples=("auth groups acl set --id Analysts --permission Read",),
    ),
)
