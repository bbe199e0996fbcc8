"""Quarantine of garbage collection: `gc quarantine`, `gc restore` and `gc purge`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anabranch.cli.commands.garbage.rules import REPOSITORY
from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.output.format import iso_time, printable, size
from anabranch.cli.output.progress import ProgressRelay, show_progress
from anabranch.cli.output.table import Column

if TYPE_CHECKING:
    from anabranch.pipelines.garbage.sweeping.restore import Restoration
    from anabranch.pipelines.garbage.totals import ObjectTotals

__all__ = ["QUARANTINE", "STORES", "format_totals", "quarantine_seconds", "restore_command"]

_COLUMNS = (
    Column("RUN", "id"),
    Column("REMOVED", "time"),
    Column("UNTIL", "time"),
    Column("OBJECTS", "number"),
    Column("SIZE", "size"),
    Column("RESTORED", "number"),
)
_TIME = re.compile(r"(\d+)([hd])")
_UNITS = {"h": 3600, "d": 86_400}
_MOST_SECONDS = 3650 * 86_400
_PRINTED = 20


def quarantine_seconds(text: str) -> int:
    """Returns the seconds of a duration such as 7d or 12h. Raises ValueError for any other text,
    and for more than ten years.
    """
    match = _TIME.fullmatch(text)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= _MOST_SECONDS:
        raise ValueError(text)
    return seconds


def format_totals(amount: ObjectTotals) -> str:
    """Returns an amount of objects as text."""
    return f"{amount.objects:,} object{'' if amount.objects == 1 else 's'}, {size(amount.bytes)}"


def restore_command(repository: str, run: str, address: str = "") -> str:
    """Returns the command that restores the objects of a run from quarantine."""
    return f"anabranch gc restore lakefs://{repository} {run}" + (
        f" --address {address}" if address else ""
    )


def _list(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    import msgspec  # noqa: PLC0415

    from anabranch.server.stores.open_stores import open_restorer  # noqa: PLC0415

    loaded = server_settings(context, context.arguments.data, context.arguments.config)
    with open_restorer(loaded.settings) as restorer:
        runs = restorer.runs(context.arguments.repository.repository)
    context.output.rows(
        _COLUMNS,
        [msgspec.to_builtins(run) for run in runs],
        lambda run: (
            run["run_id"],
            run["removed_at"],
            run["until"],
            run["quarantined"]["objects"],
            run["quarantined"]["bytes"],
            run["restored"]["objects"],
        ),
    )


def _restore(context: CommandContext) -> int:
    from anabranch.server.stores.open_stores import open_restorer  # noqa: PLC0415  as above

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    repository = given.repository.repository
    prefixes = given.address or ()
    with open_restorer(loaded.settings) as restorer:
        if given.dry_run and not context.output.json:
            for _, held in restorer.objects(repository, given.run, prefixes):
                for each in held:
                    context.output.line(printable(each.address))
        done = restorer.restore(repository, given.run, prefixes=prefixes, dry_run=given.dry_run)
    if context.output.json:
        import msgspec  # noqa: PLC0415  as above

        context.output.document(msgspec.to_builtins(done))
    else:
        _print(context, done)
    return Failure.exit_code if done.failed else 0


def _print(context: CommandContext, done: Restoration) -> None:
    if done.dry_run:
        context.output.line(f"Would restore {format_totals(done.restored)}")
        return
    context.output.line(f"Restored {format_totals(done.restored)}")
    if done.restored.objects:
        until = iso_time(done.kept_until)
        context.output.line(f"Restored objects are kept until {until}; refer to them by then")
    if done.present:
        context.output.line(f"{done.present:,} were already at their addresses")
    reasons = (
        (done.replaced, "another object is at the address; it was not replaced"),
        (done.gone, "its data has been purged"),
        (done.busy, "garbage collection is about to remove it; try again when it is over"),
    )
    for addresses, reason in reasons:
        for address in addresses[:_PRINTED]:
            context.output.line(f"Not restored: {printable(address)}: {reason}")
        if len(addresses) > _PRINTED:
            context.output.line(f"and {len(addresses) - _PRINTED:,} more: {reason}")


def _purge(context: CommandContext) -> None:
    import msgspec  # noqa: PLC0415  as above

    from anabranch.server.stores.open_stores import open_collector  # noqa: PLC0415  as above

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    relay = ProgressRelay()
    with (
        open_collector(loaded.settings, relay) as collector,
        show_progress(context.output) as relay.target,
    ):
        done = collector.purge(given.repository.repository)
    text = f"Purged {format_totals(done.purged)}"
    if done.kept:
        text += f"; kept {done.kept:,} that are referred to or were removed again"
    context.output.done(text, msgspec.to_builtins(done))


STORES = (
    Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
    Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
)

QUARANTINE = (
    Command(
        "quarantine",
        "List the runs whose removed objects can be restored",
        _list,
        arguments=(REPOSITORY,),
        options=STORES,
        examples=("gc quarantine lakefs://flights",),
        connects=False,
    ),
    Command(
        "restore",
        "Restore quarantined objects to their addresses",
        _restore,
        arguments=(
            REPOSITORY,
            Argument("RUN", "The run that removed them; `gc quarantine` lists the runs"),
        ),
        options=(
            Option(
                "--address",
                "Restore only objects whose address has this prefix, such as data/…",
                "PREFIX",
                repeat=True,
            ),
            Option("--dry-run", "Only print what would be restored"),
            *STORES,
        ),
        details="An object that now exists at an address is not replaced. Restored objects are "
        "kept for a week, even if nothing refers to them. It may be run again, and during a "
        "sweep; it exits with 1 if an object could not be restored.",
        examples=(
            "gc restore lakefs://flights da2sqvm0000c2kr3l6mg",
            "gc restore lakefs://flights da2sqvm0000c2kr3l6mg --address data/gk3c --dry-run",
        ),
        connects=False,
    ),
    Command(
        "purge",
        "Delete expired objects from quarantine, as every sweep does",
        _purge,
        arguments=(REPOSITORY,),
        options=STORES,
        details="Objects that something refers to stay in quarantine.",
        examples=("gc purge lakefs://flights",),
        connects=False,
    ),
)
