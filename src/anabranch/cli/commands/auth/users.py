"""`auth users`: users, and their groups, policies and access keys."""

from __future__ import annotations

from anabranch.cli.framework.command import YES, Command, Option, listing_options
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMANDS", "GROUP_COLUMNS", "POLICY_COLUMNS", "USER_COLUMNS", "USER_ID", "add", "names"]

USER_ID = Option("--id", "Name of the user", "NAME", required=True)
_OWN_ID = Option("--id", "Name of the user; your own by default", "NAME", default="")
_POLICY = Option("--policy", "Name of the policy", "NAME", required=True)
_KEY = Option("--access-key-id", "The access key id", "ID", required=True)

USER_COLUMNS = (Column("USER", "name"), Column("CREATED", "time"))
GROUP_COLUMNS = (Column("GROUP", "name"), Column("CREATED", "time"))
POLICY_COLUMNS = (Column("POLICY", "name"), Column("CREATED", "time"))
_KEY_COLUMNS = (Column("ACCESS KEY ID", "id"), Column("CREATED", "time"))


def names(
    context: CommandContext, columns: tuple[Column, ...], *path: str, **params: object
) -> None:
    """Prints a listing of what has a name and a time of creation."""
    options = context.arguments
    pages = context.connection.pages(
        *path,
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
        **params,
    )
    context.output.rows(columns, pages, lambda item: (item["id"], item["creation_date"]))
    context.output.more(pages.next_offset)


def add(context: CommandContext, done: str, *path: str) -> None:
    """Adds a relation and says so."""
    context.connection.send("PUT", *path)
    context.output.done(done)


def _list(context: CommandContext) -> None:
    names(context, USER_COLUMNS, "auth", "users")


def _create(context: CommandContext) -> None:
    user = context.arguments.id
    item = context.connection.send("POST", "auth", "users", body={"id": user})
    context.output.done(f"Created the user {user}, who has no permissions and no keys yet", item)


def _delete(context: CommandContext) -> None:
    user = context.arguments.id
    context.confirm(f"Delete the user {user}, with all access keys?")
    context.connection.send("DELETE", "auth", "users", user)
    context.output.done(f"Deleted the user {user}")


def _deactivate(context: CommandContext) -> None:
    user = context.arguments.id
    context.confirm(f"Deactivate the user {user}, and end all sessions?")
    item = context.connection.send("PATCH", "auth", "users", user, body={"active": False})
    context.output.done(f"Deactivated the user {user}, whose keys and sessions do not work", item)


def _activate(context: CommandContext) -> None:
    user = context.arguments.id
    item = context.connection.send("PATCH", "auth", "users", user, body={"active": True})
    context.output.done(f"Activated the user {user}, whose keys work again", item)


def _end_sessions(context: CommandContext) -> None:
    user = context.arguments.id
    context.confirm(f"End all sessions of the user {user}?")
    context.connection.send("DELETE", "auth", "users", user, "sessions")
    context.output.done(f"Ended all sessions of the user {user}; access keys still work")


def _groups(context: CommandContext) -> None:
    names(context, GROUP_COLUMNS, "auth", "users", context.arguments.id, "groups")


def _policies(context: CommandContext) -> None:
    options = context.arguments
    params = {"effective": "true"} if options.effective else {}
    names(context, POLICY_COLUMNS, "auth", "users", options.id, "policies", **params)


def _attach(context: CommandContext) -> None:
    user, policy = context.arguments.id, context.arguments.policy
    done = f"Attached the policy {policy} to the user {user}"
    add(context, done, "auth", "users", user, "policies", policy)


def _detach(context: CommandContext) -> None:
    user, policy = context.arguments.id, context.arguments.policy
    context.connection.send("DELETE", "auth", "users", user, "policies", policy)
    context.output.done(f"Detached the policy {policy} from the user {user}")


def _user(context: CommandContext) -> str:
    """Returns the name of the user whom a command is about, by default one's own."""
    name: str = context.arguments.id or context.connection.get("user")["user"]["id"]
    return name


def _keys(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("auth", "users", _user(context), "credentials"),
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
    )
    context.output.rows(
        _KEY_COLUMNS,
        pages,
        lambda item: (item["access_key_id"], item["creation_date"]),
    )
    context.output.more(pages.next_offset)


def _create_key(context: CommandContext) -> None:
    item = context.connection.send("POST", "auth", "users", _user(context), "credentials")
    context.output.details(
        [
            ("access key id", item["access_key_id"], "id"),
            ("secret access key", item["secret_access_key"], ""),
        ],
        item,
    )
    context.output.note("The secret is not shown again.")


def _delete_key(context: CommandContext) -> None:
    key = context.arguments.access_key_id
    context.confirm(f"Delete the access key {key}?")
    context.connection.send("DELETE", "auth", "users", _user(context), "credentials", key)
    context.output.done(f"Deleted the access key {key}")


def _attach_principal(context: CommandContext) -> None:
    user, principal = _user(context), context.arguments.principal_id
    place = ("auth", "users", user, "external", "principals")
    context.connection.send("POST", *place, body={}, principalId=principal)
    context.output.done(f"{principal} logs in as the user {user}")


def _detach_principal(context: CommandContext) -> None:
    user, principal = _user(context), context.arguments.principal_id
    place = ("auth", "users", user, "external", "principals")
    context.connection.send("DELETE", *place, principalId=principal)
    context.output.done(f"{principal} no longer logs in as the user {user}")


def _principals(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("auth", "users", _user(context), "external", "principals", "ls"),
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
    )
    context.output.rows((Column("PRINCIPAL", "id"),), pages, lambda item: (item["id"],))
    context.output.more(pages.next_offset)


def _lookup_principal(context: CommandContext) -> None:
    principal = context.arguments.principal_id
    item = context.connection.get("auth", "external", "principals", principalId=principal)
    context.output.details(
        [("principal", item["id"], "id"), ("user", item["user_id"], "name")], item
    )


_EXAMPLE_ROLE = "arn:aws:sts::1234:assumed-role/etl"
_PRINCIPAL = Option(
    "--principal-id", "The role, such as arn:aws:sts::1234:assumed-role/NAME", "ARN", required=True
)

COMMANDS = (
    Command(
        "users list",
        "List users",
        _list,
        options=listing_options("users"),
        examples=("auth users list",),
    ),
    Command(
        "users create",
        "Create a user, without permissions and keys",
        _create,
        options=(USER_ID,),
        examples=("auth users create --id jane",),
    ),
    Command(
        "users delete",
        "Delete a user with all access keys",
        _delete,
        options=(USER_ID, YES),
        examples=("auth users delete --id jane",),
    ),
    Command(
        "users deactivate",
        "Let a user neither log in nor use access keys, and end all sessions",
        _deactivate,
        options=(USER_ID, YES),
        examples=("auth users deactivate --id jane",),
    ),
    Command(
        "users activate",
        "Let a deactivated user log in and use access keys again",
        _activate,
        options=(USER_ID,),
        examples=("auth users activate --id jane",),
    ),
    Command(
        "users end-sessions",
        "End all sessions of a user: of browsers, command lines and programs",
        _end_sessions,
        options=(USER_ID, YES),
        examples=("auth users end-sessions --id jane",),
    ),
    Command(
        "users groups list",
        "List the groups of a user",
        _groups,
        options=(USER_ID, *listing_options("groups")),
        examples=("auth users groups list --id jane",),
    ),
    Command(
        "users policies list",
        "List the policies of a user",
        _policies,
        options=(
            USER_ID,
            Option("--effective", "Include the policies of the user's groups"),
            *listing_options("policies"),
        ),
        examples=("auth users policies list --id jane --effective",),
    ),
    Command(
        "users policies attach",
        "Attach a policy to a user",
        _attach,
        options=(USER_ID, _POLICY),
        examples=("auth users policies attach --id jane --policy FSReadAll",),
    ),
    Command(
        "users policies detach",
        "Detach a policy from a user",
        _detach,
        options=(USER_ID, _POLICY),
        examples=("auth users policies detach --id jane --policy FSReadAll",),
    ),
    Command(
        "users credentials list",
        "List access keys of a user",
        _keys,
        options=(_OWN_ID, *listing_options("keys")),
        examples=("auth users credentials list", "auth users credentials list --id jane"),
    ),
    Command(
        "users credentials create",
        "Create an access key and show its secret, once",
        _create_key,
        options=(_OWN_ID,),
        examples=("auth users credentials create --id jane",),
    ),
    Command(
        "users credentials delete",
        "Delete an access key",
        _delete_key,
        options=(_OWN_ID, _KEY, YES),
        examples=("auth users credentials delete --access-key-id AKIAJEXAMPLEQ",),
    ),
    Command(
        "users aws-iam attach",
        "Let a role of AWS log in as a user",
        _attach_principal,
        options=(_OWN_ID, _PRINCIPAL),
        examples=(f"auth users aws-iam attach --id etl --principal-id {_EXAMPLE_ROLE}",),
    ),
    Command(
        "users aws-iam detach",
        "Let a role of AWS log in no longer",
        _detach_principal,
        options=(_OWN_ID, _PRINCIPAL),
        examples=(f"auth users aws-iam detach --id etl --principal-id {_EXAMPLE_ROLE}",),
    ),
    Command(
        "users aws-iam list",
        "List the roles of AWS that log in as a user",
        _principals,
        options=(_OWN_ID, *listing_options("principals")),
        examples=("auth users aws-iam list --id jane",),
    ),
    Command(
        "users aws-iam lookup",
        "Show the user of a role of AWS",
        _lookup_principal,
        options=(_PRINCIPAL,),
        examples=(f"auth users aws-iam lookup --principal-id {_EXAMPLE_ROLE}",),
    ),
)
