"""Every way by which a request names an address of the store has a check.

A field of a request that may name one must be in `CHECKS`, and so must a module that makes entries
from addresses in `ENTRY_MAKERS`: a new way fails here until it says what checks it.
`tests/server/access/test_addresses.py` tries the ways as a user who may import nothing.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from msgspec import inspect

import anabranch
from anabranch.access.policies.permissions import Action
from anabranch.rest.protocol.resources import (
    on_all_objects,
    on_import_sources,
    on_linked_source,
    on_named_namespace,
    on_namespace,
    on_resolved_sources,
    on_staged_source,
)
from anabranch.rest.table import EXTENSIONS, OPERATIONS

EVERY = {operation.id: operation for operation in (*OPERATIONS, *EXTENSIONS)}

_MAY_NAME = re.compile(
    "address|namespace|meta_?range|location|url|object_id|resolutions|^paths.*path$|^range$"
)

STAGED = Action.IMPORT_FROM_STORAGE, on_staged_source
LINKED = Action.IMPORT_FROM_STORAGE, on_linked_source
RESOLVED = Action.IMPORT_FROM_STORAGE, on_resolved_sources
IMPORTED = Action.IMPORT_FROM_STORAGE, on_import_sources
ATTACHED = Action.ATTACH_STORAGE_NAMESPACE, on_namespace
PURGED = Action.PURGE_STORAGE_NAMESPACE, on_namespace
PURGING = Action.PURGE_STORAGE_NAMESPACE, on_named_namespace
TABLE = Action.READ_OBJECT, on_all_objects
TREE = "the handler passes call.importable_addresses()"
OWN_UPLOAD = "must be the address of the upload, which the server chose"
NO_BYTES = "names no bytes"

CHECKS = {
    ("stageObject", "physical_address"): STAGED,
    ("linkPhysicalAddress", "staging.physical_address"): LINKED,
    ("linkPhysicalAddress", "staging.presigned_url"): NO_BYTES,
    ("importStart", "paths[].path"): IMPORTED,
    ("createRepository", "storage_namespace"): ATTACHED,
    ("purgeNamespace", "storage_namespace"): PURGED,
    ("getPurgeStatus", "storage_namespace"): PURGING,
    ("commit", "source_metarange"): TREE,
    ("commitAsync", "source_metarange"): TREE,
    ("CreateCommitRecord", "metarange_id"): TREE,
    **{
        (restore, f"{kind}_meta_range_id"): TREE
        for restore in ("restoreRefs", "restoreSubmit")
        for kind in ("commits", "branches", "tags")
    },
    **{
        (change, "resolutions[]"): RESOLVED
        for change in (
            *("mergeIntoBranch", "mergeIntoBranchAsync", "mergePullRequest", "revertBranch"),
            *("revertCommits", "cherryPick", "rebaseBranch"),
        )
    },
    ("getMetaRange", "meta_range"): TABLE,
    ("getRange", "range"): TABLE,
    ("getMetadataObject", "object_id"): TABLE,
    ("completePresignMultipartUpload", "physical_address"): OWN_UPLOAD,
    ("abortPresignMultipartUpload", "physical_address"): OWN_UPLOAD,
    ("uploadPart", "physical_address"): NO_BYTES,
    ("uploadPartCopy", "physical_address"): NO_BYTES,
    ("createSymlinkFile", "location"): NO_BYTES,
    ("createRepositoryNotification", "url"): NO_BYTES,
    ("addTombstones", "addresses[]"): NO_BYTES,
    ("claimRemovedObjects", "addresses[]"): NO_BYTES,
}

ENTRY_MAKERS = {
    "catalog/objects/multipart_completion.py": "an upload's own address",
    "catalog/objects/objects.py": "a new address of the server",
    "catalog/objects/staging.py": "link_sources, stage_sources",
    "catalog/sample/files.py": "the sample's own objects",
    "catalog/tables/iceberg/record_store.py": "a new address of the server",
    "catalog/tables/iceberg/table_folders.py": "no address",
    "model/objects/entry_records.py": "stored records",
    "pipelines/backups/kept_objects.py": "what staged records lead to, protected as restored",
    "pipelines/images/external.py": "source_permissions",
    "pipelines/imports/entries.py": "on_import_sources",
    "pipelines/verification/stores/object_probes.py": "compared, and stored nowhere",
    "remote/snapshots/readable_tables.py": "of a client, which stores none",
    "remote/wire.py": "of a client, which stores none",
    "s3/operations/directory_markers.py": "no address",
    "s3/operations/table_files/reads.py": "no address",
    "spark/jobs/verification/seen.py": "compared, and stored nowhere",
    "versioning/merging/table_files.py": "a new address of the server",
    "versioning/merging/tree_merger.py": "a new address of the server",
    "versioning/records/entries.py": "stored records",
}


def _texts(kind, name=""):
    """Yields the names of the text fields of a type, with those of nested structures."""
    if isinstance(kind, inspect.Metadata):
        yield from _texts(kind.type, name)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _texts(each, name)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        yield from _texts(kind.item_type, f"{name}[]")
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from _texts(field.type, f"{name}.{field.encode_name}".lstrip("."))
    elif isinstance(kind, inspect.StrType | inspect.DictType):
        yield name


def _named():
    for operation in EVERY.values():
        for part in (operation.params, operation.body):
            if part is not None:
                for field in _texts(inspect.type_info(part)):
                    if _MAY_NAME.search(field):
                        yield operation.id, field


def test_every_field_that_may_name_an_address_has_a_check():
    assert set(_named()) == set(CHECKS)


@pytest.mark.parametrize(
    ("operation", "check"),
    [(name, check) for (name, _), check in CHECKS.items() if isinstance(check, tuple)],
)
def test_the_operation_needs_the_permission_of_its_check(operation, check):
    needs = EVERY[operation].permission
    assert check in [(need.action, need.resource) for need in needs]


def test_every_module_that_makes_entries_is_known():
    folder = Path(anabranch.__file__).parent
    makers = set()
    for path in folder.rglob("*.py"):
        if not {"Entry", "encode_entry"} & set(re.findall(r"\w+", text := path.read_text())):
            continue  # to parse all takes seconds
        tree = ast.parse(text)
        imported = {
            each.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "anabranch.model.objects.entry"
            for each in node.names
        }
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {
            *(each.id for each in calls if isinstance(each, ast.Name)),
            *(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)),
        }
        if ("Entry" in names and "Entry" in imported) or "encode_entry" in names:
            makers.add(path.relative_to(folder).as_posix())
    assert makers == set(ENTRY_MAKERS)
