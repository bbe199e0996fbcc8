"""A hidden branch at a folder's commit, on which the server merges local changes with others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.cli.commands.commits.merge import merge_failure
from anabranch.cli.commands.local.link import Link
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import LakeUri

__all__ = ["merge_on_server", "temporary_branch"]


@contextmanager
def temporary_branch(context: CommandContext, link: Link) -> Iterator[str]:
    """Gives the name of a hidden branch at the folder's commit, which is deleted at the end, also
    after failures and interrupts.
    """
    name = f"local-{os.urandom(8).hex()}"
    segments = ("repositories", link.source.repository, "branches")
    try:
        context.connection.send(
            "POST", *segments, body={"name": name, "source": link.head, "hidden": True}
        )
        yield name
    finally:
        try:
            context.connection.send("DELETE", *segments, name)
        except Failure as failure:
            # the failure that led here says more; a branch that is left behind is hidden
            if failure.kind != "not_found":
                context.output.note(f"the hidden branch {name} was not deleted: {failure.message}")


def merge_on_server(
    context: CommandContext, link: Link, source: str, destination: str, body: dict[str, Any]
) -> str:
    """Returns the commit of a merge by the server. Raises Failure with the paths that conflict."""
    segments = ("repositories", link.source.repository, "refs", source, "merge", destination)
    try:
        result = context.connection.send("POST", *segments, body=body)
    except Failure as failure:
        place = LakeUri(link.source.repository, source)
        conflict = merge_failure(context, place, destination, failure)
        if conflict is None:
            raise
        conflict.hint = (
            "Nothing was changed. Choose a side with --strategy source-wins or dest-wins, "
            "or for single paths with --resolve PATTERN=STRATEGY."
        )
        raise conflict from failure
    return str(result["reference"])
