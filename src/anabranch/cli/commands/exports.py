"""`export`: copies the objects of a reference to a plain folder or prefix and keeps the copy up to
date.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from anabranch.cli.framework.address import ref_address
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.jobs.engine_costs import EXPORT, Amount, choose_engine
from anabranch.cli.jobs.engines import MASTER, announce, engine_option, opener, spark
from anabranch.cli.jobs.summary import SUMMARY, write_summary
from anabranch.cli.output.format import size
from anabranch.cli.output.progress import show_progress
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]


def _export(context: CommandContext) -> None:
    choice = choose_engine(context, EXPORT, partial(_amount, context))
    announce(context, choice)
    with write_summary(context, "export", choice) as summary:
        done = _run(context, choice.engine)
        summary.result = done
    for path in done["shown"]:
        context.output.note(path)
    if not summary.printed:
        _show(context, done)


def _amount(context: CommandContext) -> Amount | str:
    """Returns what the export will copy at most, or the reason for this process."""
    given = context.arguments
    if not given.master:
        return "which copies in this process, because no --master is given"
    from anabranch.pipelines.exports.destination_parsing import parse_destination  # noqa: PLC0415
    from anabranch.pipelines.exports.estimate import estimate_export  # noqa: PLC0415  not for --help
    from anabranch.server.stores.open_stores import open_stores  # noqa: PLC0415

    loaded = server_settings(context, given.data, given.config)
    with open_stores(loaded.settings) as stores:
        place = parse_destination(given.to, stores.blocks)
        what: LakeUri = given.reference
        found = estimate_export(
            stores.core, what.repository, what.ref, place, everything=given.everything
        )
    text = f"{_objects(found.objects)} or less, of {size(found.bytes)},"
    return Amount(found.objects, found.bytes, text)


def _run(context: CommandContext, engine: str) -> dict[str, Any]:
    """Runs the export and returns its result."""
    # the server's libraries are slow to import, and --help must not wait for them
    import msgspec  # noqa: PLC0415

    from anabranch.pipelines.exports.destination_parsing import parse_destination  # noqa: PLC0415
    from anabranch.pipelines.exports.export import Exporter  # noqa: PLC0415
    from anabranch.server.stores.open_stores import open_stores  # noqa: PLC0415

    given = context.arguments
    what: LakeUri = given.reference
    loaded = server_settings(context, given.data, given.config)
    options = {
        "everything": given.everything,
        "remove_extra": given.remove_extra,
        "skip_invalid": given.skip_invalid,
    }
    with open_stores(loaded.settings) as stores, show_progress(context.output) as progress:
        if engine == "spark":
            from anabranch.spark.jobs.exports import export  # noqa: PLC0415  an extra

            with spark(context) as session:
                done = export(
                    *(session, stores, what.repository, what.ref, given.to),
                    store=opener(loaded),
                    progress=progress,
                    **options,
                )
        else:
            exporting = Exporter(stores.core, stores.blocks, progress=progress)
            place = parse_destination(given.to, stores.blocks)
            done = exporting.export(what.repository, what.ref, place, **options)
    result: dict[str, Any] = msgspec.to_builtins(done)
    return result


def _show(context: CommandContext, done: dict[str, Any]) -> None:
    pairs: list[tuple[str, Any, str]] = [
        ("commit", done["commit"], "name"),
        ("destination", done["destination"], ""),
        ("copied", f"{_objects(done['stored'])}, {size(done['bytes'])}", ""),
        ("removed", _objects(done["removed"] + done["extra"]), ""),
        ("left out", _objects(done["invalid"]), ""),
        ("marker", done["marker"], ""),
    ]
    context.output.details(pairs, done)


def _objects(number: int) -> str:
    return f"{number:,} object{'' if number == 1 else 's'}"


COMMAND = Command(
    "export",
    "Copy the objects of a branch, tag or commit to a plain folder or prefix",
    _export,
    arguments=(
        Argument("REFERENCE", "What to export: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument(
            "TO", "The destination: a folder of this machine, or an address in the lake's own store"
        ),
    ),
    options=(
        Option(
            "--everything", "Copy all objects, including those that the destination already has"
        ),
        Option("--remove-extra", "Remove files from the destination that the commit does not have"),
        Option("--skip-invalid", "Skip paths that the destination cannot store, and show them"),
        engine_option("local", "spark"),
        MASTER,
        SUMMARY,
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="Run it with the server's settings; servers may keep running. Paths do not change, and "
    "uncommitted changes are left out. The destination records the commit it has, so the "
    "next export copies only what has changed, and an interrupted export resumes.",
    examples=(
        "export lakefs://flights/main /data/flights",
        "export lakefs://flights/v1 s3://public/flights/ --remove-extra",
    ),
    connects=False,
)
