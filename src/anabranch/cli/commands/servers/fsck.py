"""`fsck`: verifies an installation, and mends what can be mended without loss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from anabranch.cli.errors import Failure, Usage, file_failure
from anabranch.cli.framework.command import YES, Command, Option, at_least_zero
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.jobs.engines import MASTER, opener, spark
from anabranch.cli.output.format import printable
from anabranch.cli.output.progress import show_progress
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.pipelines.verification.report import VerificationReport
    from anabranch.pipelines.verification.verification import Verification
    from anabranch.server.installation.verification import VerifiedInstallation

__all__ = ["COMMAND", "print_report"]

_SAMPLE = 1000
_PRINTED = 100


class _CouldNotLook(Failure):
    """The installation could not be verified."""

    exit_code = 2


def _fsck(context: CommandContext) -> int:
    given = context.arguments
    if given.repair and context.output.json and not given.yes:
        raise Usage("--json cannot ask for confirmation", hint="Add --yes to agree to repairs.")
    try:
        return _verify(context)
    except Failure:
        raise
    except AnabranchError as error:
        raise _CouldNotLook(error.message, kind=error.kind, hint=error.hint) from error
    except OSError as error:
        failure = file_failure(error)
        raise _CouldNotLook(
            failure.message, kind=failure.kind, where=failure.where, hint=failure.hint
        ) from error


def _verify(context: CommandContext) -> int:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.installation.verification import open_verification  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    with open_verification(loaded.settings) as installation, ExitStack() as stack:
        from anabranch.pipelines.verification.verification import Verification  # noqa: PLC0415  an extra

        looks = None
        if given.engine == "spark":
            from anabranch.spark.jobs.verification import SparkLooks  # noqa: PLC0415  an extra

            session = stack.enter_context(_spark(context))
            looks = SparkLooks(session, installation.stores.blocks, opener(loaded))
        with show_progress(context.output) as progress:
            verification = Verification(
                installation.stores,
                sample=None if given.all else given.sample,
                progress=progress,
                looks=looks,
            )
            report = verification.run(installation.files)
        if not context.output.json:
            print_report(context, report)
        if given.repair:
            report = _repair(context, verification, report, installation)
    if context.output.json:
        context.output.document(report.document())
    return 1 if report.total else 0


@contextmanager
def _spark(context: CommandContext) -> Iterator[SparkSession]:
    """Yields a Spark session; if a job fails in it, the installation could not be looked at."""
    with spark(context) as session:
        from pyspark.errors import PySparkException  # noqa: PLC0415  an extra

        try:
            yield session
        except PySparkException as error:
            message = str(error).strip().splitlines() or ["a job has failed"]
            raise _CouldNotLook(f"Spark: {message[0]}", kind="spark_failed") from error


def _repair(
    context: CommandContext,
    verification: Verification,
    report: VerificationReport,
    installation: VerifiedInstallation,
) -> VerificationReport:
    """Mends what can be mended, if the user agrees, and returns the report with it."""
    import msgspec  # noqa: PLC0415  not needed for --help

    from anabranch.pipelines.verification.repairs import repair  # noqa: PLC0415
    from anabranch.pipelines.verification.report import report_finding  # noqa: PLC0415

    mendable = [each for each in verification.findings.shown if each.mend is not None]
    if not mendable:
        return report
    context.confirm(f"Repair {len(mendable):,} of {report.total:,} findings?")
    done = [report_finding(each) for each in repair(installation.stores.core.keyvalue, mendable)]
    if not context.output.json:
        left = len(mendable) - len(done)
        changed = f"; {left:,} have changed meanwhile" if left else ""
        context.output.line(f"Repaired {len(done):,} findings{changed}")
    return msgspec.structs.replace(report, repaired=done)


def print_report(context: CommandContext, report: VerificationReport) -> None:
    """Prints the first findings and the totals of a report."""
    output = context.output
    for finding in report.findings[:_PRINTED]:
        output.line(f"{finding.check}: {printable(finding.subject)}")
        output.line(f"  {printable(finding.message)} ({finding.kind})")
        if finding.repair:
            output.line(f"  --repair would {finding.repair}")
    if (left := report.total - min(len(report.findings), _PRINTED)) > 0:
        output.line(f"and {left:,} more findings")
    looked = (
        f"{report.repositories:,} repositories, {report.tables:,} tables, {report.entries:,} "
        f"entries of {report.objects:,} objects, {report.objects_read:,} of them read"
    )
    state = f"{report.total:,} findings" if report.total else "No findings"
    output.line(f"{state} in {looked}")


COMMAND = Command(
    "fsck",
    "Verify an installation: records, tables, objects, logs",
    _fsck,
    options=(
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
        Option(
            "--sample",
            f"Read this many objects, chosen at random, and compare their MD5 [default: {_SAMPLE}]",
            "N",
            parse=at_least_zero,
            default=_SAMPLE,
        ),
        Option("--all", "Read all objects, and compare all of the history index"),
        Option(
            "--repair",
            "Mend what can be mended without loss, after a confirmation",
        ),
        YES,
        Option(
            "--engine",
            "Where tables and objects are read: in this process, or by tasks of Spark",
            "ENGINE",
            choices=("local", "spark"),
            default="local",
        ),
        MASTER,
    ),
    details="Run it with the server's settings; servers may keep running. It reads, and changes "
    "nothing without --repair. What changes meanwhile is no finding. It exits with 0 if all is "
    "well, with 1 if there are findings, and with 2 if it could not look. Requires `pip install "
    "'anabranch[gc]'`.",
    examples=(
        "fsck",
        "fsck --data lake --all",
        "fsck --config /etc/anabranch.toml --repair --yes",
        "fsck --config /etc/anabranch.toml --all --engine spark --master yarn",
    ),
    connects=False,
)
