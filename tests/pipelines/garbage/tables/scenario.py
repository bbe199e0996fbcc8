"""A repository with a table whose older snapshots nothing needs any more, and what may come to
refer to their files: each of these is made at any step of a sweep.
"""

from __future__ import annotations

from support.garbage import DAY, put
from support.stepped_scenario import Steps

from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.errors import AnabranchError
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore

from .catalog_requests import served_in_process
from .table_engine import Engine, path_of, readable

__all__ = ["REFERENCES", "REFUSALS", "WAYS", "TableScenario", "attempt"]

WAYS = ("database", "server")

REFUSALS = {
    "being_removed",
    "commit_expired",
    "data_missing",
    "object_not_found",
    "object_removed",
    "sweep_under_way",
    "table_file_removed",
}


ARCHIVE = "archive/trips.json"
LATE = {"dirty_branch", "merge_conflict", "no_changes", "staged_change", "table_already_exists"}
"""What is in the way of references that several make at once."""


class TableScenario:
    """The repository `sea`: the table `trips` lost the snapshots of two commits, which expired, and
    `dropped` was dropped. What can be undone is not kept. Collectors have access to the database,
    or through a server alone: `way`; `engine` makes the engine of each run.
    """

    def __init__(
        self, folder, make_blocks=MemoryBlocks, *, way="database", scheme="mem", engine=None
    ):
        self.way, self.namespace, self.make_engine = way, f"{scheme}://sea", engine
        self.clock, self.steps = Clock(), Steps()
        keyvalue, blocks = MemoryStore(), make_blocks(clock=self.clock)
        self.lake = lake = Lake(
            FaultyStore(keyvalue, self.steps),
            FaultyBlocks(blocks, self.steps),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
            undo_days=0,
        )
        self.folder = folder
        lake.repositories.create("sea", self.namespace)
        lake.garbage_rules.set("sea", RetentionRules(1))
        put(lake, "code", body=b"1")
        lake.commits.commit("sea", "main", committer="me", message="m")
        self.engine = engine = Engine(lake)
        lake.iceberg.namespaces.create(engine.place("main"), ("city",), {}, Writing(committer="me"))
        engine.create("trips")
        engine.create("other")
        self.area = engine.find("trips").area
        self.dead = engine.append("trips", [1, 2])
        self.old_metadata = engine.find("trips").record.metadata
        self.old_record = lake.objects.open("sea", "main", path_of("trips")).read_bytes()
        self.expired = self.head()
        # keeps the bytes of the old record, and none of the files of its table
        for path in (ARCHIVE, "archived/again/table.json"):
            lake.objects.copy("sea", "main", path, source_path=path_of("trips"), shallow=True)
        lake.commits.commit("sea", "main", committer="me", message="m")
        engine.append("trips", [3])
        engine.append("trips", [4], keep=False)
        engine.expire("trips")
        self.removal = self.head()
        engine.create("dropped")
        engine.append("dropped", [9])
        self.dropped = engine.find("dropped").record.metadata
        engine.drop("dropped")
        put(lake, "more", body=b"2")
        lake.commits.commit("sea", "main", committer="me", message="m")
        lake.branches.create("sea", "side", "main")
        self.clock.advance(30 * DAY)
        self.collector = self.make_collector()

    def make_collector(self, name="gc", clock=None):
        clock, folder = clock or self.clock, self.folder / name
        installation = self.lake.core
        if self.way == "server":
            installation = served_in_process(self.lake, folder / "served", clock)
        return Collector(installation, self.lake.blocks, folder, clock=clock)

    def head(self, branch="main"):
        return self.lake.branches.get("sea", branch).commit_id

    def mark(self, **options):
        """Marks what is dead, with no window."""
        if self.make_engine is not None:
            options = {"engine": self.make_engine(), **options}
        return self.collector.mark("sea", **{"window_seconds": 0, **options})

    def stored_files(self):
        """The S3 addresses of the files of tables."""
        inner = (each.partition("/")[2] for each in self.files())
        return {f"s3://sea/.tables/{each}" for each in inner if "/" in each}

    def files(self):
        prefix = f"{self.namespace}/"
        listed = self.lake.blocks.list(f"{prefix}tables/")
        return {each.address.removeprefix(prefix) for each in listed}


def add_dead_files(scenario, branch="main", **options):
    """Commits a snapshot with files that only expired commits name."""
    scenario.engine.append("trips", [5], branch, files=scenario.dead, **options)
    return branch


def add_dead_files_elsewhere(scenario):
    """Commits the dead files of one table to another one."""
    scenario.engine.append("other", files=scenario.dead, branch="side")
    return "side"


def stage_dead_files(scenario):
    return add_dead_files(scenario, staged=True)


def stage_and_commit(scenario):
    stage_dead_files(scenario)
    scenario.lake.commits.commit("sea", "main", committer="me", message="m")
    return "main"


def delete_from_dead_file(scenario):
    """Commits deletes, which name the data file that they are of, and dead files as deletes."""
    scenario.engine.append("trips", files=scenario.dead, content=1, of=scenario.dead[0])
    return "main"


def register_dropped(scenario):
    scenario.engine.register("again", scenario.dropped)
    return "main"


def register_older_metadata(scenario):
    """Makes a table of metadata that the log of the live ones names."""
    scenario.engine.register("again", scenario.old_metadata)
    return "main"


def write_old_record(scenario):
    """Stages the bytes of an old record, as any client of S3 may."""
    scenario.lake.objects.upload("sea", "main", path_of("again"), [scenario.old_record])
    return "main"


def copy_old_record(scenario):
    scenario.lake.objects.copy(
        "sea",
        "main",
        path_of("again"),
        source_path=path_of("trips"),
        source_ref=scenario.expired,
        shallow=True,
    )
    return "main"


def copy_archived_record(scenario):
    scenario.lake.objects.copy("sea", "main", path_of("again"), source_path=ARCHIVE, shallow=True)
    return "main"


def move_archived_record(scenario):
    scenario.lake.transfers.move("sea", "main", ARCHIVE, path_of("again"))
    return "main"


def move_archived_tables(scenario):
    """Moves a prefix of the branch itself to where records of tables are."""
    scenario.lake.transfers.move("sea", "main", "archived/", "_tables/city/")
    return "main"


def copy_old_tables(scenario):
    """Copies the prefix of a namespace from an expired commit to a branch."""
    scenario.lake.transfers.copy(
        "sea",
        "side",
        "_tables/city/",
        "_tables/town/",
        source_reference=scenario.expired,
        shallow=True,
    )
    return "side"


def make_branch(scenario):
    scenario.lake.branches.create("sea", "back", scenario.expired)
    return "back"


def make_tag(scenario):
    scenario.lake.tags.create("sea", "v1", scenario.expired)
    return "v1"


def hard_reset(scenario):
    scenario.lake.branches.hard_reset("sea", "side", scenario.expired)
    return "side"


def revert(scenario):
    """Takes the expiry of snapshots back."""
    scenario.lake.branches.revert("sea", "main", scenario.removal, committer="me")
    return "main"


def merge(scenario):
    """Merges an expired commit into a branch from its parent."""
    scenario.lake.branches.create("sea", "first", f"{scenario.expired}~1")
    scenario.lake.refs.merge("sea", scenario.expired, "first", committer="me")
    return "first"


def commit_tree(scenario):
    tree = scenario.lake.commits.get("sea", scenario.expired).metarange_id
    scenario.lake.commits.commit("sea", "side", committer="me", message="m", source_metarange=tree)
    return "side"


def append_as_usual(scenario):
    """An ordinary commit, which is never refused."""
    scenario.engine.append("trips", [6])
    return "main"


REFERENCES = (
    add_dead_files,
    add_dead_files_elsewhere,
    stage_dead_files,
    stage_and_commit,
    delete_from_dead_file,
    register_dropped,
    register_older_metadata,
    write_old_record,
    copy_old_record,
    copy_archived_record,
    move_archived_record,
    move_archived_tables,
    copy_old_tables,
    make_branch,
    make_tag,
    hard_reset,
    revert,
    merge,
    commit_tree,
    append_as_usual,
)


def attempt(scenario, refer):
    """Returns the reference by which tables were made readable, None if that was refused. Whatever
    succeeds must be readable.
    """
    try:
        reference = refer(scenario)
    except AnabranchError as error:
        if error.kind in REFUSALS or error.kind in LATE:
            return None
        raise
    found = readable(scenario.lake, reference)
    assert found is not None, f"{refer.__name__} has succeeded, and files are gone"
    return reference, found
