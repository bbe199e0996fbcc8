"""`import`: adds objects of the object store to a branch without copying them, and waits for the
job.
"""

from __future__ import annotations

from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import address, prefix_address
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import META
from anabranch.cli.jobs.engines import MASTER, EngineChoice, announce, engine_option
from anabranch.cli.jobs.summary import SUMMARY, write_summary
from anabranch.cli.output.history import commit_details
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]

_SOURCES = ("from", "listing", "inventory")


def _import(context: CommandContext) -> None:
    given = context.arguments
    sources = [name for name in _SOURCES if given.__dict__[name]]
    if len(sources) != 1:
        raise Usage(
            "import needs exactly one of --from, --listing and --inventory",
            hint="Give a prefix, a listing of objects, or an S3 Inventory.",
        )
    source = sources[0]
    if given.object and source != "from":
        raise Usage("--object needs --from")
    if given.prefix and source != "inventory":
        raise Usage("--prefix needs --inventory", hint="The value of --from is a prefix already.")
    if given.verify is not None and source == "from":
        raise Usage(
            "--verify needs --listing or --inventory",
            hint="The objects of --from are listed by the store itself.",
        )
    choice = _choose_engine(context, source)
    announce(context, choice)
    with write_summary(context, "import", choice) as summary:
        done = _run(context, source, choice.engine)
        summary.result = done["result"]
    if not summary.printed:
        _show(context, done)


def _choose_engine(context: CommandContext, source: str) -> EngineChoice:
    """Returns the engine of the options, or the default one for the source."""
    engine = context.arguments.engine
    if engine == "server" and source != "from":
        raise Usage(
            f"a server cannot read --{source}",
            hint="Use --engine local, with or without a running server.",
        )
    if engine == "spark" and context.arguments.object:
        raise Usage("Spark cannot import a single object", hint="Choose another --engine.")
    if engine != "auto":
        return EngineChoice(engine, "as requested")
    if source == "from":
        return EngineChoice("server", "which lists its store itself")
    from anabranch.cli.jobs.import_from_listing import engine_for  # noqa: PLC0415  slow to import

    return engine_for(context, source)


def _run(context: CommandContext, source: str, engine: str) -> dict[str, Any]:
    if engine != "server":
        from anabranch.cli.jobs.import_from_listing import import_from_listing  # noqa: PLC0415  slow to import

        return import_from_listing(context, source, engine)
    from anabranch.cli.jobs.import_on_server import import_on_server  # noqa: PLC0415  so as above

    status = import_on_server(context)
    done = {
        "commit": status["commit"]["id"],
        "metarange_id": status["commit"]["meta_range_id"],
        "objects": status["ingested_objects"],
        "skipped": {},
        "shown": [],
        "phases": {},
        "tasks": {},
    }
    return {"result": {**_place(context), **done}, "commit": status["commit"], "document": status}


def _place(context: CommandContext) -> dict[str, str]:
    given = context.arguments
    to: LakeUri = given.to
    source = next(given.__dict__[name] for name in _SOURCES if given.__dict__[name])
    return {
        "repository": to.repository,
        "branch": to.ref,
        "source": source if isinstance(source, str) else " ".join(source),
        "destination": to.key,
    }


def _show(context: CommandContext, done: dict[str, Any]) -> None:
    result = done["result"]
    to: LakeUri = context.arguments.to
    if not context.output.json:
        number = result["objects"]
        where = address(to.repository, to.ref, to.key)
        context.output.line(f"Imported {number} object{'' if number == 1 else 's'} to {where}")
        for reason, left in sorted(result["skipped"].items()):
            context.output.note(f"skipped: {left} with {reason}")
    context.output.details(commit_details(done["commit"]), done["document"])


COMMAND = Command(
    "import",
    "Add existing objects of the object store to a branch",
    _import,
    options=(
        Option(
            "--from",
            "The prefix of the objects' addresses (a folder's address ends with a slash)",
            "ADDRESS",
        ),
        Option(
            "--listing",
            "A listing of the objects, a file or a folder: Parquet, ORC or CSV",
            "PLACE",
            repeat=True,
        ),
        Option("--inventory", "An S3 Inventory: its manifest.json, or its folder", "PLACE"),
        Option(
            "--prefix", "Import only keys of the inventory with this prefix", "PREFIX", default=""
        ),
        Option(
            "--to",
            "The destination: lakefs://REPOSITORY/BRANCH, or a folder on it; its content is "
            "replaced",
            "PLACE",
            parse=prefix_address,
            required=True,
        ),
        Option("--object", "Import a single object, to exactly this path"),
        Option("-m, --message", "The message of the commit", "TEXT", default=""),
        META,
        Option("--committer", "The committer, without a server [default: your user name]", "NAME"),
        Option(
            "--on-invalid",
            "How to handle invalid rows",
            "HOW",
            choices=("fail", "skip"),
            default="fail",
        ),
        Option("--rejected-rows", "Write the invalid rows to this file, Parquet or CSV", "FILE"),
        Option(
            "--verify",
            "Which rows of a listing or an inventory to compare with the store [default: sample]",
            "ROWS",
            choices=("none", "sample", "all"),
        ),
        engine_option("server", "local", "spark"),
        MASTER,
        Option("--server", "The address of the server, for the engine server", "URL"),
        Option("--data", "The server's data folder, for local and spark", "DIR"),
        Option(
            "-c, --config",
            "Read settings from this file: the connection's for the engine server, the server's, "
            "TOML or lakeFS's YAML, for local and spark",
            "FILE",
        ),
        SUMMARY,
        Option("--no-progress", "Do not show the progress"),
        Option("--force", "Import into a read-only repository"),
    ),
    details=(
        "Nothing is copied: the paths refer to the objects at their addresses. The content of the "
        "destination is replaced by one commit. The engine server runs the import in the server; "
        "Ctrl-C cancels it, and the branch does not change. The engines local and spark use the "
        "server's own stores and settings, and need `pip install 'anabranch[local]'` or "
        "`'anabranch[spark]'`. Listings and inventories need one of these two; docs/listings.md "
        "describes them. --verify compares rows with the objects of the store: existence, size "
        "and ETag. sample compares 1,000 rows, and the import fails if one of them differs; all "
        "compares every row, and treats those that differ as invalid rows (--on-invalid)."
    ),
    examples=(
        "import --from s3://archive/2024/ --to lakefs://flights/main/raw/2024 -m 'Bring in 2024'",
        "import --object --from local:///raw/airports.csv --to lakefs://flights/main/airports.csv",
        "import --listing objects.parquet --to lakefs://flights/main/raw --on-invalid skip",
        "import --inventory s3://kept/lake/all/2024-05-06T00-00Z/ --to lakefs://flights/main/raw",
    ),
    connects=False,  # it has these options itself
)
