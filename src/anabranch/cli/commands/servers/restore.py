"""`restore`: restores a backup to a new place."""

from __future__ import annotations

from datetime import UTC, datetime

from anabranch.cli.commands.servers.backup import BACKUP, STORES, TARGET, manifest_document
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.output.progress import show_progress

__all__ = ["COMMAND"]


def _restore(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.installation.backups import open_restore, open_target, write_keys  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    name = given.repository or ""
    with open_target(loaded.settings, given.target) as target:  # before anything is made
        manifest = target.find(given.backup or "", given.at)
    with (
        show_progress(context.output) as progress,
        open_restore(loaded.settings, given.target, progress, alone=bool(name)) as restore,
    ):
        objects = manifest.objects and not given.no_objects
        restored = restore.run(manifest, repository=name, objects=objects)
    written = write_keys(loaded.settings, restored)
    document = {
        "backup": manifest_document(manifest),
        "repositories": restored.repositories,
        "rows": restored.rows,
        "tables": restored.tables,
        "objects": restored.objects,
        "keys": written,
    }
    context.output.done(
        f"Restored {len(restored.repositories):,} repositories of the backup {manifest.id}: "
        f"{restored.rows:,} rows, {restored.tables:,} tables, {restored.objects:,} objects",
        document,
    )


def _moment(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


COMMAND = Command(
    "restore",
    "Restore a backup to a new place",
    _restore,
    arguments=(TARGET,),
    options=(
        BACKUP,
        Option(
            "--at",
            "The last backup made at or before this time (2026-11-29T12:00)",
            "TIME",
            parse=_moment,
        ),
        Option("--repository", "Restore this repository alone", "NAME"),
        Option("--no-objects", "Leave the objects of the backup out"),
        *STORES,
    ),
    details="It never overwrites: there must be no installation, or, with --repository, no "
    "repository of that name. If it is interrupted, repeat it. Storage namespaces stay as they "
    "were. Requires `pip install 'anabranch[gc]'`.",
    examples=(
        "restore /mnt/backups --data new-lake",
        "restore /mnt/backups --data new-lake --at 2026-11-29T12:00",
        "restore s3://our-backups/lake --config new.toml --repository flights",
    ),
    connects=False,
)
