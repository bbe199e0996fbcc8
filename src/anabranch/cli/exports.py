"""`export`: what a reference holds, copied to a plain folder or prefix and kept up to date."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from anabranch.cli.address import ref_address
from anabranch.cli.call import Call
from anabranch.cli.cells import size
from anabranch.cli.command import Argument, Command, Option
from anabranch.cli.steps import steps
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]


def _export(call: Call) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    import msgspec  # noqa: PLC0415

    from anabranch.pipelines.exports.export import Exporting  # noqa: PLC0415
    from anabranch.pipelines.exports.places import place_of  # noqa: PLC0415
    from anabranch.server.beside import opened_stores  # noqa: PLC0415
    from anabranch.server.load_settings import load_settings  # noqa: PLC0415

    given = call.arguments
    what: LakeUri = given.reference
    config = None if given.config is None else Path(given.config)
    loaded = load_settings({"data": given.data}, os.environ, config)
    for warning in loaded.warnings:
        call.output.note(warning)
    with opened_stores(loaded.settings) as (core, blocks), steps(call.output) as show:
        show.begin("copying", 0)
        done = Exporting(core, blocks, told=show.advance).export(
            what.repository,
            what.ref,
            place_of(given.to, blocks),
            everything=given.everything,
            remove_extra=given.remove_extra,
            leave_unfit=given.leave_unfit,
        )
    for path in done.shown:
        call.output.note(path)
    pairs: list[tuple[str, Any, str]] = [
        ("commit", done.commit, "name"),
        ("destination", done.destination, ""),
        ("copied", f"{_objects(done.stored)}, {size(done.bytes)}", ""),
        ("removed", _objects(done.removed + done.extra), ""),
        ("left out", _objects(done.unfit), ""),
        ("marker", done.marker, ""),
    ]
    call.output.details(pairs, msgspec.to_builtins(done))


def _objects(number: int) -> str:
    return f"{number:,} object{'' if number == 1 else 's'}"


COMMAND = Command(
    "export",
    "Copy what a branch, tag or commit holds to a plain folder or prefix",
    _export,
    arguments=(
        Argument("REFERENCE", "What to export: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument("TO", "Where to: a folder of this machine, or an address in the lake's own store"),
    ),
    options=(
        Option("--everything", "Copy all, whatever the place has already"),
        Option("--remove-extra", "Remove files there that the commit does not have"),
        Option("--leave-unfit", "Leave out paths that the place cannot have, and show them"),
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="Run it with the server's settings; its servers may go on. Paths are kept, what is "
    "staged is left out. The place remembers which commit it holds, so the next export brings what "
    "has changed, and one that was interrupted goes on.",
    examples=(
        "export lakefs://flights/main /data/flights",
        "export lakefs://flights/v1 s3://public/flights/ --remove-extra",
    ),
    connects=False,
)
