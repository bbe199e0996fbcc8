"""`auth explain`: why a user may do something, or may not."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMANDS"]

_DENIED = 1


def _explain(context: CommandContext) -> int:
    given = context.arguments
    item = context.connection.get(
        *("auth", "users", given.user, "explain"),
        action=given.action,
        resource=given.resource,
        branch=given.branch or None,
        source_ip=given.source_ip or None,
        time=given.time or None,
    )
    verdict = "allowed" if item["allowed"] else "denied"
    lines = [
        (verdict, f"{given.action} on {given.resource}", "name" if item["allowed"] else "removed"),
        ("decided by", _reason(item), ""),
    ]
    if not item["allowed"]:
        lines.append(("would be allowed", _remedy(item), ""))
    lines += [
        (
            "without effect",
            f"statement {each['statement']} of the policy {each['policy']}, on {each['resource']}",
            "",
        )
        for each in item.get("without_effect", ())
    ]
    context.output.details(lines, item)
    return 0 if item["allowed"] else _DENIED


def _reason(item: dict[str, Any]) -> str:
    if item["policy"] is None:
        return "no statement of the user's policies names it"
    through = f", through the group {', '.join(item['groups'])}" if item["groups"] else ""
    return f"statement {item['statement']} of the policy {item['policy']}{through}"


def _remedy(item: dict[str, Any]) -> str:
    if item["policy"] is not None:
        return f"if the policy {item['policy']} did not deny it"
    if item["allowed_by"]:
        return f"by any of the policies {', '.join(item['allowed_by'])}"
    return "by a new policy; none that exists allows it"


COMMANDS = (
    Command(
        "explain",
        "Show which policy allows a user something, or denies it",
        _explain,
        arguments=(
            Argument("USER", "Name of the user"),
            Argument("ACTION", "The action, such as fs:ReadObject"),
            Argument("RESOURCE", "The resource's ARN, or `*` for any resource"),
        ),
        options=(
            Option(
                "--branch", "Branch that the action changes, for conditions", "NAME", default=""
            ),
            Option("--source-ip", "Address of the client, for conditions", "ADDRESS", default=""),
            Option(
                "--time", "Time of the request, for conditions; now by default", "TIME", default=""
            ),
        ),
        details="The exit code is 0 if it is allowed, and 1 if it is denied.",
        examples=(
            "auth explain jane fs:ReadObject arn:lakefs:fs:::repository/flights/object/raw.csv",
            "auth explain jane fs:CreateCommit arn:lakefs:fs:::repository/flights/branch/main",
        ),
    ),
)
