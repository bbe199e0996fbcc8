"""`gc`: finds objects that nothing keeps any more and removes them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.cli.call import Call
from anabranch.cli.cells import size
from anabranch.cli.command import YES, Command, Group, Option
from anabranch.cli.engines import (
    MASTER,
    Chosen,
    announce,
    engine_option,
    opener,
    server_settings,
    spark,
)
from anabranch.cli.failure import Failure, Usage, file_failure
from anabranch.cli.garbage_rules import REPOSITORY, RULES
from anabranch.cli.steps import Relay, steps
from anabranch.cli.summary import SUMMARY, summarised

if TYPE_CHECKING:
    from anabranch.pipelines.garbage.amount import Amount
    from anabranch.pipelines.garbage.run import Run
    from anabranch.pipelines.garbage.served_installation import Asking
    from anabranch.pipelines.garbage.summary import Summary

__all__ = ["COMMAND"]

_HOUR = 3600.0
_DAY = 24 * _HOUR
_OLD_UPLOADS = 7
"""An upload in parts that is so many days old is told of."""

_PRINTED_REFERENCES = 20


def _run(call: Call) -> int:
    given = call.arguments
    if given.check_only and given.sweep:
        raise Usage("--check-only removes nothing", hint="Leave out --sweep.")
    if given.check_only and given.engine == "spark":
        raise Usage("Spark does not look for missing objects", hint="Leave out --engine.")
    if given.sweep and call.output.json and not given.yes:
        raise Usage("--json asks no questions", hint="Add --yes to agree to the sweep.")
    chosen = Chosen("local", "which works in this process")
    if given.engine != "auto":
        chosen = Chosen(given.engine, "as asked for")
    announce(call, chosen)
    with summarised(call, "gc", chosen) as summary:
        summary.result = _collect(call, summary.printed)
    return Failure.exit_code if summary.result["missing"]["objects"] else 0


def _collect(call: Call, quiet: bool) -> Any:
    """Marks, and sweeps if asked to; returns the summary of the run."""
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.beside import opened_collector  # noqa: PLC0415

    given = call.arguments
    loaded = server_settings(call, given.data, given.config)
    relay = Relay()
    with ExitStack() as stack:
        engine = None
        if given.engine == "spark":
            from anabranch.spark.garbage import SparkEngine  # noqa: PLC0415  an extra

            engine = SparkEngine(stack.enter_context(spark(call)), opener(loaded))
        collector = stack.enter_context(opened_collector(loaded.settings, relay, _asking(call)))
        with steps(call.output) as relay.to:
            run = collector.mark(
                given.repository.repository,
                grace_seconds=given.grace * _HOUR,
                window_seconds=given.window * _HOUR,
                uploads_seconds=(given.end_uploads or _OLD_UPLOADS) * _DAY,
                engine=engine,
                check_only=given.check_only,
            )
        with run:
            if not (quiet or (call.output.json and given.sweep)):
                _report(call, run.summary)
            try:
                if given.sweep:
                    _sweep(call, run, relay, quiet=quiet)
            finally:
                _page(call, run.summary)
            return _document(run.summary)


def _asking(call: Call) -> Asking | None:
    """Returns how the server is asked that takes the place of the database, if there is one."""
    if call.arguments.through is None:
        return None
    from anabranch.cli.settings import resolve  # noqa: PLC0415  most runs have a database
    from anabranch.spark.server import Server  # noqa: PLC0415

    found = resolve(call.environment, server=call.arguments.through)
    return Server(found.server, found.access_key_id, found.secret_access_key).calls


def _sweep(call: Call, run: Run, relay: Relay, *, quiet: bool) -> None:
    due = run.summary.due
    what = [_amount(due)] if due.objects else []
    if run.summary.old_uploads and call.arguments.end_uploads is not None:
        what.append(_uploads(run.summary.old_uploads))
    if what:
        call.confirm(f"Remove {' and '.join(what)} for good?")
    with steps(call.output) as relay.to:
        given = call.arguments
        summary = run.sweep(rate=given.rate, end_uploads=given.end_uploads is not None)
    if quiet:
        return
    if call.output.json:
        call.output.document(_document(summary))
        return
    call.output.line(f"Removed {_amount(summary.swept)}")
    if summary.ended_uploads:
        call.output.line(f"Ended {_uploads(summary.ended_uploads)}")
    if summary.revived:
        call.output.line(f"Kept {summary.revived} that came to life meanwhile")
    if summary.late:
        call.output.line(f"Left {summary.late} to the next run, as the store took too long")


def _page(call: Call, summary: Summary) -> None:
    """Writes the page where it is wanted."""
    if call.arguments.html is None:
        return
    from anabranch.pipelines.garbage.report_page import html_page  # noqa: PLC0415  not for --help

    try:
        Path(call.arguments.html).write_bytes(html_page(summary))
    except OSError as error:
        raise file_failure(error) from error


def _report(call: Call, summary: Summary) -> None:
    from anabranch.pipelines.garbage.missing import missing_text  # noqa: PLC0415  not for --help

    found = summary.found
    missing: list[tuple[str, Any, str]] = [("missing", missing_text(summary.missing), "")]
    missing += [("missing in", summary.missing.location, "")] if summary.missing.location else []
    if summary.state == "checked":
        pairs = [
            ("repository", summary.repository, "name"),
            ("listed", _amount(summary.listed), ""),
            *missing,
            ("page", summary.page_location, ""),
        ]
        _details(call, summary, pairs)
        return
    pairs = [
        ("repository", summary.repository, "name"),
        ("commits", f"{found.active_commits} of {found.commits} are active", ""),
        ("listed", _amount(summary.listed), ""),
        ("left alone", f"{summary.young} young, {summary.unknown} unknown", ""),
        ("dead", _amount(summary.candidates), ""),
        *((f"  of {month}", _amount(part), "") for month, part in sorted(summary.by_month.items())),
        ("may be removed", _amount(summary.due), ""),
    ]
    if summary.old_uploads:
        days = f"begun {summary.uploads_seconds / _DAY:g} days ago or earlier"
        pairs.append(("unfinished", f"{_uploads(summary.old_uploads)}, {days}", ""))
    if summary.next_due_at:
        pairs.append(("more from", summary.next_due_at, "time"))
    pairs.append(("candidates", summary.candidates_location, ""))
    pairs.append(("page", summary.page_location, ""))
    _details(call, summary, [*pairs, *missing])


def _details(call: Call, summary: Summary, pairs: list[tuple[str, Any, str]]) -> None:
    """Prints a report, and the first references to missing objects below it."""
    from anabranch.pipelines.garbage.missing import needed_by  # noqa: PLC0415  not for --help

    call.output.details(pairs, _document(summary))
    if call.output.json:
        return
    for each in summary.missing.shown[:_PRINTED_REFERENCES]:
        place = f"lakefs://{each.repository}: {each.path}"
        call.output.line(f"Missing: {each.address}, at {place}, needed by {needed_by(each)}")
    if (left := summary.missing.references - _PRINTED_REFERENCES) > 0:
        call.output.line(f"and {left:,} more references to missing objects")


def _document(summary: Summary) -> Any:
    import msgspec  # noqa: PLC0415  not needed for --help

    return msgspec.to_builtins(summary)


def _amount(amount: Amount) -> str:
    return f"{amount.objects:,} object{'' if amount.objects == 1 else 's'}, {size(amount.bytes)}"


def _uploads(number: int) -> str:
    return f"{number:,} upload{'' if number == 1 else 's'} in parts"


def _hours(text: str) -> float:
    hours = float(text)
    if not 0 <= hours < float("inf"):
        raise ValueError(text)
    return hours


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < float("inf"):
        raise ValueError(text)
    return rate


def _days(text: str) -> int:
    days = int(text)
    if days <= 0:
        raise ValueError(text)
    return days


COMMAND = Group(
    "gc",
    "Find and remove objects that nothing keeps any more; rules of keeping",
    (
        Command(
            "run",
            "Report what is dead in the store, and remove it if asked to",
            _run,
            arguments=(REPOSITORY,),
            options=(
                Option("--sweep", "Remove what has been dead for the restore window, after asking"),
                YES,
                Option(
                    "--check-only",
                    "Look only for objects that are referred to and missing in the store",
                ),
                Option(
                    "--grace",
                    "Leave objects alone that are younger; an upload can be linked for 24 hours",
                    "HOURS",
                    parse=_hours,
                    default=24.0,
                ),
                Option(
                    "--window",
                    "Remove only what an earlier run, so long ago, has found dead already",
                    "HOURS",
                    parse=_hours,
                    default=24.0,
                ),
                Option(
                    "--end-uploads",
                    "With --sweep, end uploads in parts that began so many days ago",
                    "DAYS",
                    parse=_days,
                ),
                Option("--html", "Write the report as a page with plots, too", "FILE"),
                Option("--rate", "Remove at most so many objects a second", "N", parse=_rate),
                engine_option("local", "spark"),
                MASTER,
                SUMMARY,
                Option(
                    "--through",
                    "Ask the server at this address what refers to objects, with the command "
                    "line's keys; of the settings only the store's are then needed",
                    "URL",
                ),
                Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
                Option(
                    "-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"
                ),
            ),
            details="Run it with the server's settings; its servers may go on. Nothing is removed "
            "without --sweep, and then only what is still dead. It exits with 1 if objects are "
            "missing that something refers to. It needs "
            "`pip install 'anabranch[gc]'`, or `'anabranch[spark]'` for Spark.",
            examples=(
                "gc lakefs://flights",
                "gc lakefs://flights --sweep --yes",
                "gc lakefs://flights --check-only",
                "gc lakefs://flights --through https://lake.example.com -c store.toml",
            ),
            connects=False,
        ),
        *RULES,
    ),
    default="run",
)
