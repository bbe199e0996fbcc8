"""`backup`: makes, lists, verifies and prunes backups of an installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.cli.commands.servers.fsck import print_report
from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.output.format import printable
from anabranch.cli.output.progress import show_progress
from anabranch.cli.output.table import Column

if TYPE_CHECKING:
    from anabranch.pipelines.backups.manifest import Manifest
    from anabranch.pipelines.backups.pruning import Pruned

__all__ = ["BACKUP", "COMMAND", "STORES", "TARGET", "manifest_document"]

TARGET = Argument("TARGET", "A folder, or an address such as s3://bucket/backups")
BACKUP = Option("--backup", "The id of a backup, or its beginning [default: the last one]", "ID")
STORES = (
    Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
    Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
)
_SAMPLE = 1000


def manifest_document(manifest: Manifest) -> dict[str, Any]:
    """Returns a backup as values of JSON, without its files."""
    import msgspec  # noqa: PLC0415  not needed for --help

    document: dict[str, Any] = msgspec.to_builtins(manifest)
    document["rows"] = manifest.rows
    del document["files"]
    return document


def _run(context: CommandContext) -> int:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.installation.backups import open_backup_job  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    with (
        show_progress(context.output) as progress,
        open_backup_job(loaded.settings, given.target, progress) as backup,
    ):
        manifest = backup.make(objects=given.objects)
    if context.output.json:
        context.output.document(manifest_document(manifest))
    else:
        _print(context, manifest)
    return 1 if manifest.problems else 0


def _print(context: CommandContext, manifest: Manifest) -> None:
    output = context.output
    output.line(f"Backup {manifest.id} of {len(manifest.repositories):,} repositories")
    copied = f"Copied {manifest.rows:,} rows, {manifest.copied_tables:,} tables"
    if manifest.objects:
        copied += f", {manifest.copied_objects:,} objects"
    output.line(f"{copied}: {manifest.copied_bytes:,} bytes")
    for problem in manifest.problems:
        output.line(f"Not copied: {printable(problem)}")


def _list(context: CommandContext) -> int:
    from anabranch.server.installation.backups import open_target  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    with open_target(loaded.settings, given.target) as target:
        backups, damaged = target.readable()
    if context.output.json:
        context.output.document([manifest_document(each) for each in backups])
        return 1 if damaged else 0
    context.output.rows(
        (
            Column("Backup"),
            Column("Made", "time"),
            Column("Repositories", "number"),
            Column("Objects"),
            Column("Problems", "number"),
        ),
        [manifest_document(each) for each in backups],
        lambda each: (
            each["id"],
            int(each["created_at"]),
            len(each["repositories"]),
            "yes" if each["objects"] else "no",
            len(each["problems"]),
        ),
    )
    for error in damaged.values():
        context.output.line(printable(error.message))
    return 1 if damaged else 0


def _verify(context: CommandContext) -> int:
    from anabranch.server.installation.backups import open_target  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    with open_target(loaded.settings, given.target) as target:
        from anabranch.pipelines.backups.backup_verification import verify_backup  # noqa: PLC0415

        manifest = target.find(given.backup or "")
        sample = None if given.all else _SAMPLE
        with show_progress(context.output) as progress:
            report = verify_backup(target, manifest, sample=sample, progress=progress)
    if context.output.json:
        context.output.document(report.document())
    else:
        print_report(context, report)
    return 1 if report.total else 0


def _prune(context: CommandContext) -> None:
    from anabranch.server.installation.backups import open_target  # noqa: PLC0415

    given = context.arguments
    if context.output.json and not given.yes:
        raise Usage("--json cannot ask for confirmation", hint="Add --yes to agree.")
    loaded = server_settings(context, given.data, given.config)
    with open_target(loaded.settings, given.target) as target:
        from anabranch.pipelines.backups.pruning import prune  # noqa: PLC0415

        number = max(0, len(target.backups()) - given.keep)
        context.confirm(f"Remove {number:,} backups permanently?")
        with show_progress(context.output) as progress:
            pruned: Pruned = prune(target, given.keep, progress)
    what = f"Removed {len(pruned.removed):,} backups, {pruned.blocks:,} tables and objects"
    context.output.done(f"{what}: {pruned.size:,} bytes", pruned._asdict())


COMMAND = Group(
    "backup",
    "Make, list, verify and prune backups of an installation",
    (
        Command(
            "make",
            "Back up references and tables, and objects with --objects",
            _run,
            arguments=(TARGET,),
            options=(Option("--objects", "Also copy the objects that references need"), *STORES),
            details="Run it with the server's settings; servers may keep running. The backup is "
            "the state of one moment after it began. It copies what the target does not have from "
            "earlier backups. It exits with 1 if something could not be copied. Requires `pip "
            "install 'anabranch[gc]'`.",
            examples=(
                "backup /mnt/backups --data lake --objects",
                "backup s3://our-backups/lake --config /etc/anabranch.toml",
            ),
            connects=False,
        ),
        Command(
            "list",
            "List the backups of a target",
            _list,
            arguments=(TARGET,),
            options=STORES,
            details="It exits with 1 if the manifest of a backup cannot be read.",
            examples=("backup list /mnt/backups", "backup list s3://our-backups/lake --json"),
            connects=False,
        ),
        Command(
            "verify",
            "Verify a backup: its files, records, tables and objects",
            _verify,
            arguments=(TARGET,),
            options=(BACKUP, Option("--all", "Read all objects, not a sample"), *STORES),
            details="It exits with 1 if something is wrong.",
            examples=("backup verify /mnt/backups", "backup verify /mnt/backups --all --json"),
            connects=False,
        ),
        Command(
            "prune",
            "Remove old backups, and what only they need",
            _prune,
            arguments=(TARGET,),
            options=(
                Option("--keep", "Keep this many backups", "N", parse=positive, required=True),
                YES,
                *STORES,
            ),
            examples=("backup prune /mnt/backups --keep 7 --yes",),
            connects=False,
        ),
    ),
    default="make",
)
