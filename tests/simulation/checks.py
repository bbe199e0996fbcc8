"""What must hold when all clients of a simulated world have ended, as a new server sees it."""

from __future__ import annotations

from simulation.client import LASTING, REPOSITORY, SHARED, Client
from simulation.images import check_images
from simulation.imports import check_imports
from simulation.moves import check_moves
from simulation.requests import check_requests
from simulation.world import START, World

from anabranch.errors import NotFound
from anabranch.pipelines.garbage.addresses.namespace import to_namespace
from anabranch.pipelines.garbage.sweeping.quarantine_files import QuarantineFiles

__all__ = ["check"]

ALL = 1000


def check(world: World, clients: list[Client]) -> None:
    """Raises AssertionError if something acknowledged is missing, or something else is there."""
    world.faults = world.kills = 0.0
    server = world.server()
    lake = server.lake
    for client in clients:
        client.server = server
        _check_own(lake, client)
    _check_commits(lake, clients)
    claims = [claim for client in clients for claim in client.claims]
    assert len(claims) == len(set(claims)), f"two clients have created the same: {sorted(claims)}"
    tags = {each.id for each in lake.tags.list(REPOSITORY, amount=ALL).items}
    known = set(claims).union(*(client.perhaps for client in clients))
    nobodys = {each for each in tags if each.startswith("wanted-")} - known
    assert not nobodys, f"those who have created {nobodys} were told that they have not"
    for repository in lake.repositories.list(amount=ALL).items:
        _read_everything(lake, repository.id)
    if world.leavings is not None:
        _check_quarantine(world, lake)
    if world.kind == "requests":
        check_requests(lake, clients)
    if world.kind == "moves":
        check_moves(lake, clients)
    if world.kind == "jobs":
        check_imports(lake, clients)
    check_images(lake, clients)
    _check_operations(lake)


def _read_everything(lake, repository: str) -> None:
    """Reads each object of each branch and tag, and of the commits that have not expired."""
    branches = lake.branches.list(repository, amount=ALL).items
    references = {each.id for each in branches}
    references |= {each.commit_id for each in lake.tags.list(repository, amount=ALL).items}
    for branch in branches:
        commits = lake.commits.log(repository, branch.id, amount=ALL).items
        references |= {each.id for each in commits if each.creation_date > START - 3600}
    read = set()
    for reference in sorted(references):
        for item in lake.objects.listing(repository, reference, amount=ALL).items:
            if item.physical_address not in read:
                b"".join(lake.objects.open(repository, reference, item.path).chunks())
                read.add(item.physical_address)


def _check_quarantine(world: World, lake) -> None:
    """What was brought back is there; what is in quarantine can be brought back."""
    bodies = world.leavings.bodies
    for address in world.leavings.brought_back:
        assert lake.blocks.stat(address) is not None, f"{address} was removed again"
        body = lake.blocks.read(address)
        assert body == bodies.get(address, body), f"{address} is {body!r}"
    repository = lake.core.repositories.get(REPOSITORY)
    files = QuarantineFiles(lake.blocks, to_namespace(repository, lake.blocks))
    recorded = {
        (f"{world.namespace}/{item.address}", item.version or part.batch)
        for part, items in files.read_all(files.parts())
        for item in items
    }
    quarantined = world.quarantined()
    for (address, _), body in quarantined.items():
        assert body == bodies.get(address, body), f"{address} is {body!r} in quarantine"
    lost = quarantined.keys() - recorded
    assert not lost, f"nothing knows that {lost} are in quarantine"


def _check_own(lake, client: Client) -> None:
    """Objects, branches and tags of one client."""
    for branch, path in client.registers.written_keys():
        if branch in LASTING or client.branches.get(branch) == "yes":
            client.registers.read((branch, path), client.value(branch, path))
    for name, exists in client.branches.items():
        if exists != "maybe":
            assert _exists(lake, name) == (exists == "yes"), f"{name}: {exists}"
    for name, commit_id in client.tags.items():
        if commit_id:
            assert lake.tags.get(REPOSITORY, name).commit_id == commit_id


def _check_commits(lake, clients: list[Client]) -> None:
    """Each acknowledged commit is in the history of its branch."""
    for branch in sorted({where for client in clients for where, _ in client.commits}):
        log = lake.commits.log(REPOSITORY, branch, amount=ALL).items
        reachable = {each.id for each in log}
        for client in clients:
            for where, commit_id in client.commits:
                assert where != branch or commit_id in reachable, f"{branch} has lost {commit_id}"


def _exists(lake, name: str) -> bool:
    try:
        lake.branches.get(REPOSITORY, name)
    except NotFound:
        return False
    return True


def _check_operations(lake) -> None:
    """The log has each move of a branch: they lead from its creation to where it is. The clocks of
    servers differ, so the order in the log may be another.
    """
    moves: dict[str, dict[str, str]] = {}
    for operation in lake.operations.list(REPOSITORY, amount=ALL).items:
        for change in operation.changes:
            if change.before is not None and change.after is not None:
                before, after = change.before.commit_id, change.after.commit_id
                if before != after:
                    moves.setdefault(change.name, {})[before] = after
    for branch in SHARED:
        ends = set(moves.get(branch, {}).values()) - moves.get(branch, {}).keys()
        head = lake.branches.get(REPOSITORY, branch).commit_id
        assert ends in ({head}, set()), f"the log of {branch} ends at {ends}, not {head}"
