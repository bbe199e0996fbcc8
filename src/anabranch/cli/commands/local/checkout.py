"""`local checkout`: brings a folder to the state of a reference."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.commands.local.link import Link, exclusive, linked_below, read_link
from anabranch.cli.commands.local.replace import replace_content
from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable
from anabranch.model.uri import LakeUri

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Brings one folder, or with --all each linked one below it, to its reference or another."""
    start = Path(context.arguments.dir or ".")
    links = list(linked_below(start.resolve())) if context.arguments.all else [read_link(start)]
    sources = [_source(link, context.arguments.ref) for link in links]
    done = []
    for link, source in zip(links, sources, strict=True):

        def allow(count: int, folder: Path = link.folder) -> None:
            context.confirm(f"Discard {count} local changes in {printable(str(folder))}?")

        with exclusive(link.folder):
            done.append(replace_content(context, link, source, allow, "checkout"))
    if not context.output.json:
        for link in done:
            place = address(link.source.repository, link.source.ref, link.source.key)
            context.output.line(f"{printable(str(link.folder))} is {place} at {link.head}")
        return
    context.output.document(
        [
            {"folder": str(link.folder), "src": str(link.source), "at_head": link.head}
            for link in done
        ]
    )


def _source(link: Link, given: str | LakeUri | None) -> LakeUri:
    """Returns the address to check out: the link's, or its path at another reference."""
    source = link.source
    if given is None:
        return source
    if isinstance(given, str):
        return LakeUri(source.repository, given, source.key)
    same_path = given.key.rstrip("/") in ("", source.key.rstrip("/"))
    if given.repository != source.repository or not same_path:
        place = address(source.repository, source.ref, source.key)
        raise Usage(
            f"{printable(str(link.folder))} is linked to another path: {place}",
            hint="Give a reference of the same repository, or clone into another folder.",
        )
    return LakeUri(source.repository, given.ref, source.key)
