"""`export`: what a reference holds, copied to a plain folder or prefix and kept up to date."""

from __future__ import annotations

from typing import Any

from anabranch.cli.address import ref_address
from anabranch.cli.call import Call
from anabranch.cli.cells import size
from anabranch.cli.command import Argument, Command, Option
from anabranch.cli.engines import (
    MASTER,
    Chosen,
    announce,
    engine_option,
    opener,
    server_settings,
    spark,
)
from anabranch.cli.steps import steps
from anabranch.cli.summary import SUMMARY, summarised
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]


def _export(call: Call) -> None:
    chosen = Chosen("local", "which copies in this process")
    if call.arguments.engine != "auto":
        chosen = Chosen(call.arguments.engine, "as asked for")
    announce(call, chosen)
    with summarised(call, "export", chosen) as summary:
        done = _run(call, chosen.engine)
        summary.result = done
    for path in done["shown"]:
        call.output.note(path)
    if not summary.printed:
        _show(call, done)


def _run(call: Call, engine: str) -> dict[str, Any]:
    """Exports, and returns what was done."""
    # the server's libraries are slow to import, and --help must not wait for them
    import msgspec  # noqa: PLC0415

    from anabranch.pipelines.exports.export import Exporting  # noqa: PLC0415
    from anabranch.pipelines.exports.places import place_of  # noqa: PLC0415
    from anabranch.server.beside import opened_stores  # noqa: PLC0415

    given = call.arguments
    what: LakeUri = given.reference
    loaded = server_settings(call, given.data, given.config)
    options = {
        "everything": given.everything,
        "remove_extra": given.remove_extra,
        "leave_unfit": given.leave_unfit,
    }
    with opened_stores(loaded.settings) as stores, steps(call.output) as show:
        if engine == "spark":
            from anabranch.spark.exports import export  # noqa: PLC0415  an extra

            with spark(call) as session:
                show.begin("copying", 0)
                done = export(
                    *(session, stores, what.repository, what.ref, given.to),
                    store=opener(loaded),
                    told=show.advance,
                    **options,
                )
        else:
            show.begin("copying", 0)
            exporting = Exporting(stores.core, stores.blocks, told=show.advance)
            place = place_of(given.to, stores.blocks)
            done = exporting.export(what.repository, what.ref, place, **options)
    told: dict[str, Any] = msgspec.to_builtins(done)
    return told


def _show(call: Call, done: dict[str, Any]) -> None:
    pairs: list[tuple[str, Any, str]] = [
        ("commit", done["commit"], "name"),
        ("destination", done["destination"], ""),
        ("copied", f"{_objects(done['stored'])}, {size(done['bytes'])}", ""),
        ("removed", _objects(done["removed"] + done["extra"]), ""),
        ("left out", _objects(done["unfit"]), ""),
        ("marker", done["marker"], ""),
    ]
    call.output.details(pairs, done)


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
        engine_option("local", "spark"),
        MASTER,
        SUMMARY,
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
