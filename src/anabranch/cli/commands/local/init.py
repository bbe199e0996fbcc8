"""`local init` and `local clone`: link a folder to a path of a repository."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from anabranch.cli.commands.local.download import bring, check_bring
from anabranch.cli.commands.local.git_ignore import ignore_in_git
from anabranch.cli.commands.local.link import (
    LINK_FILE,
    Link,
    check_complete,
    exclusive,
    read_link,
    write_link,
)
from anabranch.cli.commands.local.replace import head_of
from anabranch.cli.commands.local.trees import remote_tree
from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable

__all__ = ["clone", "init"]


def init(context: CommandContext) -> None:
    """Links a folder, whose files stay as they are."""
    link = _new_link(context)
    if (link.folder / LINK_FILE).exists() and not context.arguments.force:
        raise Failure(
            f"{printable(str(link.folder))} is linked already",
            kind="already_exists",
            hint="Add --force to link it to another place.",
        )
    link.folder.mkdir(parents=True, exist_ok=True)
    with exclusive(link.folder):
        write_link(link)
    _print_summary(context, link, "Linked {folder} to {place} at {head}")


def clone(context: CommandContext) -> None:
    """Links an empty folder and downloads the objects into it."""
    link = _new_link(context)
    if (link.folder / LINK_FILE).is_file():
        check_complete(read_link(link.folder))
    if link.folder.exists() and (not link.folder.is_dir() or any(link.folder.iterdir())):
        raise Failure(
            f"{printable(str(link.folder))} is not an empty folder",
            kind="already_exists",
            hint="Name another folder, or link this one with `anabranch local init`.",
        )
    tree = remote_tree(context, link.source.repository, link.head, link.prefix)
    link.folder.mkdir(parents=True, exist_ok=True)
    with exclusive(link.folder):
        # written first, because it tells whether the file system ignores case
        write_link(replace(link, interrupted="clone"))
        try:
            check_bring(link, {}, tree, tree)
        except Failure:
            (link.folder / LINK_FILE).unlink()
            raise
        bring(context, link, {}, tree, tree, commit=link.head)
        write_link(link)
    objects = "1 object" if len(tree) == 1 else f"{len(tree)} objects"
    _print_summary(context, link, f"Cloned {objects} of {{place}} at {{head}} into {{folder}}")


def _new_link(context: CommandContext) -> Link:
    given = context.arguments
    source = given.address
    link = Link(Path(given.dir or ".").resolve(), source, head_of(context, source))
    if source.key and not source.key.endswith("/"):
        path = ("repositories", source.repository, "refs", link.head, "objects", "stat")
        try:
            context.connection.get(*path, path=source.key)
        except Failure as failure:
            if failure.kind != "not_found":
                raise
        else:
            raise Failure(
                f"{address(source.repository, source.ref, source.key)} is an object",
                kind="invalid",
                hint="Link the path above it.",
            )
    return link


def _print_summary(context: CommandContext, link: Link, sentence: str) -> None:
    ignoring = ignore_in_git(link.folder) if context.arguments.gitignore == "true" else None
    source = link.source
    place = address(source.repository, source.ref, source.key)
    if ignoring is not None and not context.output.json:
        context.output.note(f"Added the folder to {printable(str(ignoring))}")
    context.output.done(
        sentence.format(folder=printable(str(link.folder)), place=place, head=link.head),
        {"folder": str(link.folder), "src": str(source), "at_head": link.head},
    )
