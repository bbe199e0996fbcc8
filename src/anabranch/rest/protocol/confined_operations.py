"""The operations that the keys of a workspace may perform, and the references that each reads.

All that is not listed is refused: a new operation is out of reach until its references are known
here. The permissions of the operation are checked as well, with the paths within reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.errors import AnabranchError
from anabranch.model.tables.table_record import is_table_record
from anabranch.rest.protocol.call import Call

__all__ = ["CONFINED_OPERATIONS", "admit", "note_reads"]

_Call = Call[Any, Any]
_COMMIT_ID = re.compile("[0-9a-f]{64}")


def admit(operation_id: str, call: _Call, actor: Actor | None) -> Actor | None:
    """Returns the actor of a call. That of a workspace's keys is admitted if the operation is
    within their reach; raises Denied if it is not.
    """
    if not isinstance(actor, ConfinedActor):
        return actor
    references = CONFINED_OPERATIONS.get(operation_id)
    if references is None:
        raise actor.refusal(operation_id)
    repository = getattr(call.params, "repository", "")
    foreign = [each for each in references(call) if not actor.reaches(repository, each)]
    for reference in foreign:
        if not _is_own_commit(call, actor, repository, reference):
            raise actor.refusal(f"{operation_id} at {reference!r}")
    return actor.admit(repository, ())


def _is_own_commit(call: _Call, actor: ConfinedActor, repository: str, reference: str) -> bool:
    confinement = actor.confinement
    return repository == confinement.repository and call.services.catalog.workspaces.has_commit(
        repository, confinement.branch, reference
    )


def _nothing(_: _Call) -> Iterable[str]:
    return ()


def _branch(call: _Call) -> Iterable[str]:
    yield call.params.branch


def _workspace(call: _Call) -> Iterable[str]:
    yield call.params.workspace


def _committed(call: _Call) -> Iterable[str]:
    """A tree of the client's own may name objects of other branches."""
    yield call.params.branch
    if call.params.source_metarange:
        yield call.params.source_metarange


def _ref(call: _Call) -> Iterable[str]:
    """The reference of the path; a presigned address outlives the workspace."""
    yield call.params.ref
    if getattr(call.params, "presign", False):
        yield "a presigned address"


def _log(call: _Call) -> Iterable[str]:
    params = call.params
    yield params.ref
    if params.stop_at:
        yield params.stop_at
    if params.after and not _COMMIT_ID.fullmatch(params.after):
        yield params.after  # pages begin after full ids: others would tell which commits exist


def _commit(call: _Call) -> Iterable[str]:
    yield call.params.commit_id


def _sides(call: _Call) -> Iterable[str]:
    yield call.params.left_ref
    yield call.params.right_ref


def _row_sides(call: _Call) -> Iterable[str]:
    """The files of a table of the Iceberg catalog are on no branch."""
    yield from _sides(call)
    if is_table_record(call.params.path):
        yield "the files of a table"


def _copy(call: _Call) -> Iterable[str]:
    """Another repository of the source is in the name of the object, which is then out of reach."""
    yield call.params.branch
    yield call.body.src_ref or call.params.branch


def _transfer(call: _Call) -> Iterable[str]:
    yield call.params.branch
    yield call.body.source_ref or call.params.branch


CONFINED_OPERATIONS: MappingProxyType[str, Callable[[_Call], Iterable[str]]] = MappingProxyType(
    {
        "getConfig": _nothing,
        "getLakeFSVersion": _nothing,
        "getCurrentUser": _nothing,
        "listRepositories": _nothing,
        "getRepository": _nothing,
        "listBranches": _nothing,
        "getBranch": _branch,
        "resetBranch": _branch,
        "diffBranch": _branch,
        "commit": _committed,
        "getCommit": _commit,
        "logCommits": _log,
        "diffRefs": _sides,
        "diffRows": _row_sides,
        "getObject": _ref,
        "headObject": _ref,
        "statObject": _ref,
        "listObjects": _ref,
        "getArchive": _ref,
        "readObjects": _ref,
        "getSnapshot": _ref,
        "blameObjects": _ref,
        "previewObject": _ref,
        "getObjectStatistics": _ref,
        "previewTable": _ref,
        "queryObjects": _ref,
        "uploadObject": _branch,
        "uploadObjectPreflight": _branch,
        "deleteObject": _branch,
        "deleteObjects": _branch,
        "updateObjectUserMetadata": _branch,
        "copyObject": _copy,
        "getWorkspace": _workspace,
        "checkpointWorkspace": _workspace,
        "restoreWorkspace": _workspace,
        "undoInWorkspace": _workspace,
        "diffWorkspace": _workspace,
        "proposeWorkspace": _workspace,
        "mergeWorkspace": _workspace,
        "getWorkspaceReads": _workspace,
        "discardWorkspace": _workspace,
        "copyObjects": _transfer,
        "moveObjects": _transfer,
    }
)
"""By the id of each operation, what names the references that a call of it reads or changes."""


def note_reads(operation_id: str, call: _Call) -> None:
    """Records what a call by the keys of a workspace has read. Queries and previews do it
    themselves.
    """
    actor, read = call.actor, _READS.get(operation_id)
    if read is None or not isinstance(actor, ConfinedActor):
        return
    references, paths = read(call)
    reach = actor.confinement
    for reference in dict.fromkeys(references):
        with suppress(AnabranchError):  # the read itself has succeeded
            call.services.catalog.workspaces.reads.note(
                *(reach.repository, reach.branch, reference, paths, reach.access_key_id)
            )


_READS: MappingProxyType[str, Callable[[_Call], tuple[list[str], list[str]]]] = MappingProxyType(
    {
        "getObject": lambda call: ([call.params.ref], [call.params.path]),
        "readObjects": lambda call: ([call.params.ref], call.body.paths),
        "getArchive": lambda call: ([call.params.ref], call.params.path),
        "diffRows": lambda call: (list(_sides(call)), [call.params.path]),
        "copyObject": lambda call: (
            [call.body.src_ref or call.params.branch],
            [call.body.src_path],
        ),
        "copyObjects": lambda call: (
            [call.body.source_ref or call.params.branch],
            [call.body.source_path],
        ),
    }
)
"""By the id of an operation, the references and the paths, or prefixes, that a call of it reads."""
