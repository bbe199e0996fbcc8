"""What is told of an image, of a build and of `image show`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.call import Call
from anabranch.cli.cells import printable, size

__all__ = ["details_of", "show", "warn"]


def show(call: Call) -> None:
    """Shows an image, or its Lakefile."""
    item = call.connection.get("images", call.arguments.tag)
    if call.arguments.lakefile:
        call.output.out.write(item["lakefile"])
        return
    call.output.details(details_of(item), item)
    if not call.output.json:
        warn(call, item)


def details_of(item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns what is told of an image, or of one that would be built, as an output's details."""
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
    return details + [(f"Line {source['line']}", _told(source), "") for source in item["sources"]]


def warn(call: Call, item: dict[str, Any]) -> None:
    """Prints the warnings of a build, to standard error."""
    for warning in item["warnings"]:
        place = f"line {warning['line']}: " if warning["line"] else ""
        call.output.note(f"warning: {place}{printable(warning['message'])}")


def _told(source: dict[str, Any]) -> str:
    left = "".join(f" without {pattern}" for pattern in source["exclude"])
    number = source["objects"]
    amount = f"{number:,} object{'' if number == 1 else 's'}, {size(source['size_bytes'])}"
    return f"{source['pinned']} -> {source['destination'] or '/'}{left} ({amount})"
