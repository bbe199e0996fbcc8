"""`migrate from-lakefs`: reads a lakeFS database, in place or into another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.cli.errors import Failure, Usage, file_failure
from anabranch.cli.framework.command import YES, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.output.format import printable

if TYPE_CHECKING:
    from anabranch.model.secret import Secret
    from anabranch.pipelines.migration.report import Report, RepositoryReport

__all__ = ["FROM_LAKEFS"]

_URL = "LAKEFS_DATABASE_POSTGRES_CONNECTION_STRING"
_SECRET = "LAKEFS_AUTH_ENCRYPT_SECRET_KEY"  # noqa: S105  the name of a variable

_STATES = {
    "absent": "",
    "same": "exists already",
    "taken": "the target has another repository of this name",
    "differs": "the target has it with other content",
    "omitted": "does not come over: lakeFS was deleting it",
    "in place": "",
}


def _from_lakefs(context: CommandContext) -> int:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.installation.lakefs_migration import open_migration  # noqa: PLC0415

    given = context.arguments
    if context.output.json and not (given.dry_run or given.yes):
        raise Usage("--json cannot ask for confirmation", hint="Add --yes or --dry-run.")
    loaded = server_settings(context, given.data, given.config)
    url = given.postgres or context.environment.get(_URL, "")
    if not url and loaded.settings.database.type != "postgres":
        raise Usage(
            "which database is lakeFS's?",
            hint=f"Name it with --postgres URL or in the environment as {_URL}.",
        )
    with open_migration(
        loaded.settings,
        url,
        secret=_secret(context),
        names=frozenset(given.repository),
        dry_run=given.dry_run,
    ) as migration:
        report = migration.survey()
        if not context.output.json:
            _print(context, report)
        try:
            if not given.dry_run:
                migration.require_possible()
                if report.pending:
                    context.confirm(_question(report))
                migration.run()
        finally:
            if context.output.json:
                import msgspec  # noqa: PLC0415  not needed for --help

                context.output.document(msgspec.to_builtins(report))
    if not (given.dry_run or context.output.json):
        context.output.line(_result(report))
    return Failure.exit_code if report.unreadable_records else 0


def _secret(context: CommandContext) -> Secret | None:
    """Returns lakeFS's key that encrypts secrets, if it is given."""
    from anabranch.model.secret import Secret  # noqa: PLC0415  not needed for --help

    file = context.arguments.encrypt_secret_file
    if file is None:
        text = context.environment.get(_SECRET, "")
    else:
        try:
            text = Path(file).read_text("utf-8").strip("\r\n")
        except OSError as error:
            raise file_failure(error) from error
        if not text:
            raise Failure(f"{file}: the file is empty", kind="invalid_secret_file")
    return Secret(text) if text else None


def _question(report: Report) -> str:
    """Returns the question that the user must confirm."""
    if report.in_place:
        number = sum(each.normalized for each in report.repositories)
        what = f"Change the records of {_amount(number, 'repository', 'repositories')}"
    else:
        number = sum(each.target == "absent" for each in report.repositories)
        what = f"Copy {_amount(number, 'repository', 'repositories')} and the users"
    if report.active_clients:
        what += ", although other programs use the database"
    if lost := sum(bool(each.unreachable) for each in report.repositories):
        what += f", although the objects of {lost} cannot be reached"
    return f"{what}?"


def _result(report: Report) -> str:
    if report.in_place:
        changed = _amount(report.written, "record") if report.written else "nothing"
        return f"Changed {changed}. Stop lakeFS, and start `anabranch serve` with these settings."
    if not report.written:
        return "Everything exists already: nothing was changed"
    return f"Copied {_amount(report.written, 'record')}"


def _print(context: CommandContext, report: Report) -> None:
    out = context.output
    kind = "in place" if report.in_place else "to be copied"
    out.line(f"lakeFS's database {printable(report.source)}, {kind}:")
    for each in report.repositories:
        _print_repository(context, each)
    _print_access(context, report)
    if report.left_behind:
        out.line("Does not come over:" if not report.in_place else "Has no use in Anabranch:")
    for left in report.left_behind:
        where = f" of {left.where}" if left.where else ""
        out.line(f"  {printable(left.what)}{where} ({left.records:,}): {left.reason}")
    for unreadable in report.unreadable:
        out.line(
            f"Unreadable: partition {unreadable.partition} key {unreadable.key}: "
            f"{printable(unreadable.reason)}"
        )
    if (more := report.unreadable_records - len(report.unreadable)) > 0:
        out.line(f"and {more:,} more unreadable records")
    for warning in report.warnings:
        out.note(f"warning: {printable(warning)}")
    for client in report.active_clients:
        out.note(
            f"warning: another program uses the database: {printable(client)}. If it is lakeFS, "
            "stop it: what it writes from now on does not come over."
        )


def _print_repository(context: CommandContext, report: RepositoryReport) -> None:
    counts = [
        _amount(report.branches, "branch", "branches"),
        _amount(report.tags, "tag"),
        _amount(report.commits, "commit"),
        _amount(report.uncommitted, "uncommitted change"),
    ]
    more = [
        (report.protection_rules, "protection rule"),
        (report.metadata, "metadata key"),
        (report.pull_requests, "pull request"),
        (report.imports, "import"),
        (report.tasks, "task"),
    ]
    counts += [_amount(number, noun) for number, noun in more if number]
    context.output.line(f"  {report.name}: {', '.join(counts)}")
    details = [f"retention rules: {report.retention}" if report.retention else ""]
    details.append("read-only" if report.read_only else "")
    details.append("lakeFS was deleting it" if report.in_deletion else "")
    details.append(_STATES[report.target])
    if report.normalized:
        details.append("its record gets the namespace in the store's spelling, too")
    context.output.line(
        f"    {printable(report.storage_namespace)}; {'; '.join(filter(None, details))}".rstrip(
            "; "
        )
    )
    if report.unreachable:
        context.output.line(f"    objects cannot be reached: {printable(report.unreachable)}")


def _print_access(context: CommandContext, report: Report) -> None:
    access, out = report.access, context.output
    if access.administrator:
        pairs = _amount(access.key_pairs, "key pair")
        out.line(f"  administrator {printable(access.administrator)}: {pairs}")
    if access.omitted:
        out.line(f"    {'problem' if report.in_place else 'does not come over'}: {access.omitted}")
    numbers = [
        (access.users, "user"),
        (access.groups, "group"),
        (access.user_key_pairs, "key pair"),
        (access.relations, "relation"),
    ]
    counts = [_amount(number, noun) for number, noun in numbers if number]
    if access.policies:
        counts.append(_amount(access.policies, "policy", "policies"))
    if counts:
        out.line(f"  access control: {', '.join(counts)}")
    if access.unused_key_pairs:
        pairs = _amount(access.unused_key_pairs, "key pair")
        out.line(f"    does not come over: {pairs} that lakeFS no longer accepts")


def _amount(number: int, noun: str, plural: Any = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


FROM_LAKEFS = Command(
    "from-lakefs",
    "Take over lakeFS's PostgreSQL database, in place or by a copy",
    _from_lakefs,
    options=(
        Option(
            "--postgres",
            f"lakeFS's database [default: {_URL}, or the settings' own database]",
            "URL",
        ),
        Option(
            "--encrypt-secret-file",
            f"A file with lakeFS's auth.encrypt.secret_key [default: {_SECRET}]",
            "FILE",
        ),
        Option("--repository", "Migrate only this repository", "NAME", repeat=True),
        Option("--dry-run", "Report what would come over and what would not; change nothing"),
        YES,
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="""The settings name the database that Anabranch is going to serve. If it is lakeFS's
own, nothing is copied: the records are checked, and those are changed that Anabranch needs
otherwise. If it is another, repositories with branches, uncommitted changes, tags, commits and
rules are copied to it, from one state of lakeFS's database, which is only read. A copy that was
interrupted is continued by the same command; after a complete one, the command changes nothing.
Objects stay where they are: the settings must name lakeFS's object store.

It exits with 1 and changes nothing if a record cannot be read, or if the target has a repository
of the same name with other content. docs/migrating-a-database.md has the steps.""",
    examples=(
        "migrate from-lakefs --config lakefs.yaml --dry-run",
        "migrate from-lakefs --postgres postgres://lakefs@db.example.com/lakefs --data /srv/lake",
    ),
    connects=False,
)
