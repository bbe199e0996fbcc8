"""`gc`: finds and removes objects that nothing refers to."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.cli.commands.garbage.preparation import PREPARATION
from anabranch.cli.commands.garbage.quarantine import (
    QUARANTINE,
    STORES,
    format_totals,
    quarantine_seconds,
    restore_command,
)
from anabranch.cli.commands.garbage.rules import REPOSITORY, RULES
from anabranch.cli.errors import Failure, Usage, file_failure
from anabranch.cli.framework.command import (
    YES,
    Command,
    Group,
    Option,
    positive,
    positive_number,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.jobs.engine_costs import COLLECTION, Amount, choose_engine
from anabranch.cli.jobs.engines import MASTER, announce, engine_option, opener, spark
from anabranch.cli.jobs.summary import SUMMARY, write_summary
from anabranch.cli.output.format import iso_time
from anabranch.cli.output.progress import ProgressRelay, show_progress
from anabranch.pipelines.jobs.progress import NO_PROGRESS

if TYPE_CHECKING:
    from anabranch.pipelines.garbage.installations.requests import ServerRequests
    from anabranch.pipelines.garbage.reports.summary import Summary
    from anabranch.pipelines.garbage.run import Run

__all__ = ["COMMAND"]

_HOUR = 3600.0
_DAY = 24 * _HOUR
_OLD_UPLOADS = 7
"""Multipart uploads of at least this age in days are reported."""

_PRINTED_REFERENCES = 20


def _run(context: CommandContext) -> int:
    given = context.arguments
    if given.check_only and given.sweep:
        raise Usage("--check-only removes nothing", hint="Leave out --sweep.")
    if given.quarantine is not None and given.check_only:
        raise Usage("--check-only removes nothing", hint="Leave out --quarantine.")
    if given.sweep and context.output.json and not given.yes:
        raise Usage("--json cannot ask for confirmation", hint="Add --yes to agree to the sweep.")
    choice = choose_engine(context, COLLECTION, partial(_amount, context))
    announce(context, choice)
    with write_summary(context, "gc", choice) as summary:
        summary.result = _collect(context, choice.engine, summary.printed)
    return Failure.exit_code if summary.result["missing"]["objects"] else 0


def _amount(context: CommandContext) -> Amount | str:
    """Returns the objects that the latest run listed, or the reason for this process."""
    given = context.arguments
    if not given.master:
        return "which runs in this process, because no --master is given"
    from anabranch.server.stores.open_stores import open_collector  # noqa: PLC0415  not for --help

    loaded = server_settings(context, given.data, given.config)
    with open_collector(loaded.settings, NO_PROGRESS, _requests(context)) as collector:
        objects = collector.last_listed(given.repository.repository)
    if objects is None:
        return "because no earlier run has counted the objects"
    return Amount(objects, 0, f"{objects:,} objects, which the last run listed,")


def _collect(context: CommandContext, chosen: str, quiet: bool) -> Any:
    """Marks, sweeps if the options say so, and returns the summary of the run."""
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.stores.open_stores import open_collector  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    relay = ProgressRelay()
    with ExitStack() as stack:
        engine = None
        if chosen == "spark":
            from anabranch.spark.jobs.garbage import SparkEngine  # noqa: PLC0415  an extra

            engine = SparkEngine(stack.enter_context(spark(context)), opener(loaded))
        collector = stack.enter_context(open_collector(loaded.settings, relay, _requests(context)))
        with show_progress(context.output) as relay.target:
            run = collector.mark(
                given.repository.repository,
                grace_seconds=given.grace * _HOUR,
                window_seconds=given.window * _HOUR,
                uploads_seconds=(given.end_uploads or _OLD_UPLOADS) * _DAY,
                engine=engine,
                check_only=given.check_only,
                quarantine_seconds=given.quarantine,
                tables_seconds=given.tables_grace * _HOUR,
            )
        with run:
            if not (quiet or (context.output.json and given.sweep)):
                _report(context, run.summary)
            try:
                if given.sweep:
                    _sweep(context, run, relay, quiet=quiet)
            finally:
                _page(context, run.summary)
            return _document(run.summary)


def _requests(context: CommandContext) -> ServerRequests | None:
    """Returns the client of the server that replaces the database (`--through`), or None."""
    if context.arguments.through is None:
        return None
    from anabranch.cli.client.settings import resolve  # noqa: PLC0415  most runs have a database
    from anabranch.spark.sources.server_source import Server  # noqa: PLC0415

    found = resolve(context.environment, server=context.arguments.through)
    if found.token:
        raise Usage(
            "--through needs an access key, not a token",
            hint="Set ANABRANCH_ACCESS_KEY_ID and ANABRANCH_SECRET_ACCESS_KEY.",
        )
    return Server(found.server, found.access_key_id, found.secret_access_key).client


def _sweep(context: CommandContext, run: Run, relay: ProgressRelay, *, quiet: bool) -> None:
    summary, due = run.summary, run.summary.due
    what = [format_totals(due)] if due.objects else []
    if summary.old_uploads and context.arguments.end_uploads is not None:
        what.append(_uploads(summary.old_uploads))
    if what:
        context.confirm(_question(summary, " and ".join(what)))
    with show_progress(context.output) as relay.target:
        given = context.arguments
        summary = run.sweep(rate=given.rate, end_uploads=given.end_uploads is not None)
    if quiet:
        return
    if context.output.json:
        context.output.document(_document(summary))
    else:
        _print_sweep(context, summary)


def _print_sweep(context: CommandContext, summary: Summary) -> None:
    if summary.quarantine_seconds is None:
        context.output.line(f"Removed {format_totals(summary.swept)}")
    else:
        context.output.line(f"Moved {format_totals(summary.quarantined)} to quarantine")
    if summary.quarantined.objects:
        until = iso_time(int(summary.ended_at + (summary.quarantine_seconds or 0)))
        command = restore_command(summary.repository, summary.run_id)
        context.output.line(f"Until about {until} this restores them: {command}")
    if summary.purged.objects:
        context.output.line(f"Purged {format_totals(summary.purged)} that had been in quarantine")
    if summary.ended_uploads:
        context.output.line(f"Ended {_uploads(summary.ended_uploads)}")
    if summary.revived:
        context.output.line(f"Kept {summary.revived} that are referred to again")
    if summary.gone:
        context.output.line(f"Found {summary.gone} gone, which another run has removed")
    if summary.late:
        context.output.line(f"Left {summary.late} to the next run, as the store took too long")


def _question(summary: Summary, what: str) -> str:
    """Returns the question that the user must confirm."""
    if summary.quarantine_seconds is None:
        return f"Remove {what} permanently?"
    return f"Remove {what}, and keep objects in quarantine for {_time(summary)}?"


def _time(summary: Summary) -> str:
    hours = (summary.quarantine_seconds or 0) / _HOUR
    return f"{hours / 24:g} days" if hours >= 48 else f"{hours:g} hours"  # noqa: PLR2004


def _page(context: CommandContext, summary: Summary) -> None:
    """Writes the HTML report, if one was requested."""
    if context.arguments.html is None:
        return
    from anabranch.pipelines.garbage.reports.page import render_page  # noqa: PLC0415  not for --help

    try:
        Path(context.arguments.html).write_bytes(render_page(summary))
    except OSError as error:
        raise file_failure(error) from error


def _report(context: CommandContext, summary: Summary) -> None:
    from anabranch.pipelines.garbage.marking.missing import format_missing  # noqa: PLC0415  not for --help

    found = summary.found
    missing: list[tuple[str, Any, str]] = [("missing", format_missing(summary.missing), "")]
    missing += [("missing in", summary.missing.location, "")] if summary.missing.location else []
    if summary.state == "checked":
        pairs = [
            ("repository", summary.repository, "name"),
            ("listed", format_totals(summary.listed), ""),
            *missing,
            ("page", summary.page_location, ""),
        ]
        _details(context, summary, pairs)
        return
    pairs = [
        ("repository", summary.repository, "name"),
        ("commits", f"{found.active_commits} of {found.commits} are active", ""),
        ("listed", format_totals(summary.listed), ""),
        ("left alone", f"{summary.young} young, {summary.unknown} unknown", ""),
        ("dead", format_totals(summary.candidates), ""),
        *(
            (f"  of {month}", format_totals(part), "")
            for month, part in sorted(summary.by_month.items())
        ),
        ("may be removed", format_totals(summary.due), ""),
        *_tables(summary),
    ]
    if summary.old_uploads:
        days = f"begun {summary.uploads_seconds / _DAY:g} days ago or earlier"
        pairs.append(("unfinished", f"{_uploads(summary.old_uploads)}, {days}", ""))
    if summary.next_due_at:
        pairs.append(("more from", summary.next_due_at, "time"))
    pairs.append(("candidates", summary.candidates_location, ""))
    pairs.append(("page", summary.page_location, ""))
    _details(context, summary, [*pairs, *missing])


def _tables(summary: Summary) -> list[tuple[str, Any, str]]:
    """Returns what is printed of files of tables, nothing if there are none."""
    tables = summary.tables
    if not tables.collected:
        return [("files of tables", f"not collected: {tables.reason}", "")] if tables.reason else []
    text = f"{format_totals(tables.dead)} of {format_totals(tables.files)} dead"
    pairs = [("files of tables", f"{text}, {tables.young} young", "")]
    for kept in tables.kept_areas[:_PRINTED_REFERENCES]:
        area = kept.area or "all areas"
        pairs.append((f"  keeps {area}", kept.reason, ""))
    return pairs


def _details(context: CommandContext, summary: Summary, pairs: list[tuple[str, Any, str]]) -> None:
    """Prints the report and the first references to missing objects."""
    from anabranch.pipelines.garbage.marking.missing import format_needs  # noqa: PLC0415  not for --help

    context.output.details(pairs, _document(summary))
    if context.output.json:
        return
    for each in summary.missing.shown[:_PRINTED_REFERENCES]:
        place = f"lakefs://{each.repository}: {each.path}"
        context.output.line(f"Missing: {each.address}, at {place}, needed by {format_needs(each)}")
        if held_by := summary.missing.quarantine.get(each.address):
            command = restore_command(summary.repository, held_by, each.address)
            context.output.line(f"  in quarantine; this restores it: {command}")
    if (left := summary.missing.references - _PRINTED_REFERENCES) > 0:
        context.output.line(f"and {left:,} more references to missing objects")


def _document(summary: Summary) -> Any:
    import msgspec  # noqa: PLC0415  not needed for --help

    return msgspec.to_builtins(summary)


def _uploads(number: int) -> str:
    return f"{number:,} upload{'' if number == 1 else 's'} in parts"


def _hours(text: str) -> float:
    hours = float(text)
    if not 0 <= hours < float("inf"):
        raise ValueError(text)
    return hours


COMMAND = Group(
    "gc",
    "Find and remove objects that nothing refers to; retention rules",
    (
        Command(
            "run",
            "Report unreferenced objects, and remove them with --sweep",
            _run,
            arguments=(REPOSITORY,),
            options=(
                Option(
                    "--sweep",
                    "Remove objects that have been unreferenced for the restore window, after a "
                    "confirmation",
                ),
                YES,
                Option(
                    "--check-only",
                    "Only look for objects that are referred to but missing in the store",
                ),
                Option(
                    "--grace",
                    "Keep objects younger than this; an upload can be linked for 24 hours",
                    "HOURS",
                    parse=_hours,
                    default=24.0,
                ),
                Option(
                    "--tables-grace",
                    "Keep files of tables younger than this; an engine commits them after it has "
                    "written them (by default 168, a week)",
                    "HOURS",
                    parse=_hours,
                    default=168.0,
                ),
                Option(
                    "--window",
                    "Remove only objects that a run at least this long ago found unreferenced, too",
                    "HOURS",
                    parse=_hours,
                    default=24.0,
                ),
                Option(
                    "--end-uploads",
                    "With --sweep, abort multipart uploads that were started at least this many "
                    "days ago",
                    "DAYS",
                    parse=positive,
                ),
                Option(
                    "--quarantine",
                    "With --sweep, move objects to quarantine for this time in days or hours (7d, "
                    "12h), instead of deleting them",
                    "TIME",
                    parse=quarantine_seconds,
                ),
                Option("--html", "Also write the report as an HTML page with plots", "FILE"),
                Option(
                    "--rate",
                    "Remove at most this many objects a second",
                    "N",
                    parse=positive_number,
                ),
                engine_option("local", "spark"),
                MASTER,
                SUMMARY,
                Option(
                    "--through",
                    "Get the references to objects from the server at this address, with the "
                    "command line's credentials; then only the store's settings are needed",
                    "URL",
                ),
                *STORES,
            ),
            details="Run it with the server's settings; servers may keep running. Nothing is "
            "removed without --sweep, and then only what is still unreferenced. It exits with 1 if "
            "objects are missing that something refers to. Requires `pip install "
            "'anabranch[gc]'`, or `'anabranch[spark]'` for Spark.",
            examples=(
                "gc lakefs://flights",
                "gc lakefs://flights --sweep --yes",
                "gc lakefs://flights --sweep --quarantine 7d",
                "gc lakefs://flights --check-only",
                "gc lakefs://flights --through https://lake.example.com -c store.toml",
            ),
            connects=False,
        ),
        *QUARANTINE,
        *RULES,
        *PREPARATION,
    ),
    default="run",
)
