"""The records of reference dumps, as lakeFS 1.84 writes them.

A dump is three trees whose tables are stored with those of commits: one of all commits, one of all
branches, one of all tags. The key of a record is the commit's id or the name of the reference, its
identity is the commit's id, its data are a CommitData, a BranchData without staging areas, or a
TagData. Each table has three more properties, which are part of its id: `entity`, `schema_name`
and `schema_definition`, the message's descriptor as JSON. lakeFS writes that with or without
spaces, depending on its build, so equal records may have different ids.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from anabranch.model.names import encode_path
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.records import references
from anabranch.versioning.records.entries import Value

__all__ = [
    "BRANCHES",
    "COMMITS",
    "ENTITY",
    "TAGS",
    "DumpFormat",
    "branch_row",
    "commit_row",
    "tag_row",
]

ENTITY = "entity"
"""The property of a table that says what its records describe."""

_OWN_FIELDS = 101
"""The number of the first field that lakeFS does not have, in each message."""

_PACKAGE = "io.treeverse.lakefs.graveler"


class DumpFormat:
    """What distinguishes the three trees of a dump: the value of the property `entity`, and the
    message of the records.
    """

    def __init__(self, entity: str, message: type[Message]) -> None:
        self.entity = entity
        self._message = message

    @cached_property
    def metadata(self) -> dict[str, str]:
        """The properties of the tables."""
        return {
            ENTITY: self.entity,
            "schema_name": f"{_PACKAGE}.{self._message.DESCRIPTOR.name}",
            "schema_definition": _definition(self._message.DESCRIPTOR),
        }


COMMITS = DumpFormat("commit", records.CommitData)
BRANCHES = DumpFormat("branch", records.BranchData)
TAGS = DumpFormat("tag", records.TagData)


def commit_row(commit_id: str, record: bytes) -> tuple[bytes, Value]:
    """Returns the key and the value of a commit, given its record in the key-value store."""
    return commit_id.encode(), (commit_id.encode(), record)


def branch_row(branch: Branch) -> tuple[bytes, Value]:
    """Returns the key and the value of a branch. The value has no staging areas and, as in lakeFS,
    does not say whether the branch is hidden.
    """
    bare = Branch(id=branch.id, commit_id=branch.commit_id, staging_token="")
    return encode_path(branch.id), (branch.commit_id.encode(), references.branch_bytes(bare))


def tag_row(tag: Tag) -> tuple[bytes, Value]:
    """Returns the key and the value of a tag."""
    return encode_path(tag.id), (tag.commit_id.encode(), references.tag_bytes(tag))


def _definition(descriptor: Any) -> str:
    """Returns a message's descriptor in the JSON form of protobuf, without spaces and without our
    own fields.
    """
    proto = DescriptorProto()
    descriptor.CopyToProto(proto)
    for field in [each for each in proto.field if each.number >= _OWN_FIELDS]:
        proto.field.remove(field)
    _set_json_names(proto)
    return json.dumps(MessageToDict(proto), separators=(",", ":"))


def _set_json_names(proto: DescriptorProto) -> None:
    """Sets the names in JSON, which Python's copy of a descriptor lacks: lower camel case."""
    for field in proto.field:
        first, *others = field.name.split("_")
        field.json_name = first + "".join(map(str.capitalize, others))
    for nested in proto.nested_type:
        _set_json_names(nested)
