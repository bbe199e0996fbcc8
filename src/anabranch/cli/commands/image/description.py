"""Descriptions of an image and of a build, and `image show`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable, size

__all__ = ["image_details", "show", "warn"]


def show(context: CommandContext) -> None:
    """Shows an image, or its Lakefile."""
    item = context.connection.get("images", context.arguments.tag)
    if context.arguments.lakefile:
        context.output.out.write(item["lakefile"])
        return
    context.output.details(image_details(item), item)
    if not context.output.json:
        warn(context, item)


def image_details(item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns the description of an image, built or not, as an output's details."""
    details: list[tuple[str, Any, str]] = []
    if "uri" in item:
        details = [
            ("Image", item["uri"], "name"),
            ("Commit", item["commit_id"], "id"),
            ("Created", item["creation_date"], "time"),
            ("Creator", item["creator"], ""),
        ]
    details += [
        ("Digest", item["digest"], ""),
        ("Objects", f"{item['objects']:,}", ""),
        ("Size", item["size_bytes"], "size"),
    ]
    if item["shadowed"]:
        details.append(("Under later ones", f"{item['shadowed']:,}", ""))
    if item["base_digest"]:
        details.append(("Base", item["base_digest"], ""))
    details += [(f"Argument {key}", value, "") for key, value in sorted(item["arguments"].items())]
    details += [(f"Label {key}", value, "") for key, value in sorted(item["labels"].items())]
    return details + [
        (f"Line {source['line']}", _size_text(source), "") for source in item["sources"]
    ]


def warn(context: CommandContext, item: dict[str, Any]) -> None:
    """Prints the warnings of a build, to standard error."""
    for warning in item["warnings"]:
        place = f"line {warning['line']}: " if warning["line"] else ""
        context.output.note(f"warning: {place}{printable(warning['message'])}")


def _size_text(source: dict[str, Any]) -> str:
    left = "".join(f" without {pattern}" for pattern in source["exclude"])
    number = source["objects"]
    amount = f"{number:,} object{'' if number == 1 else 's'}, {size(source['size_bytes'])}"
    return f"{source['pinned']} -> {source['destination'] or '/'}{left} ({amount})"
