import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Entry(_message.Message):
    __slots__ = ("address", "last_modified", "size", "e_tag", "metadata", "address_type", "content_type")
    class AddressType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        BY_PREFIX_DEPRECATED: _ClassVar[Entry.AddressType]
        RELATIVE: _ClassVar[Entry.AddressType]
        FULL: _ClassVar[Entry.AddressType]
    BY_PREFIX_DEPRECATED: Entry.AddressType
    RELATIVE: Entry.AddressType
    FULL: Entry.AddressType
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    E_TAG_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    address: str
    last_modified: _timestamp_pb2.Timestamp
    size: int
    e_tag: str
    metadata: _containers.ScalarMap[str, str]
    address_type: Entry.AddressType
    content_type: str
    def __init__(self, address: _Optional[str] = ..., last_modified: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., size: _Optional[int] = ..., e_tag: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., address_type: _Optional[_Union[Entry.AddressType, str]] = ..., content_type: _Optional[str] = ...) -> None: ...

class RangeData(_message.Message):
    __slots__ = ("min_key", "max_key", "estimated_size", "count")
    MIN_KEY_FIELD_NUMBER: _ClassVar[int]
    MAX_KEY_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_SIZE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    min_key: bytes
    max_key: bytes
    estimated_size: int
    count: int
    def __init__(self, min_key: _Optional[bytes] = ..., max_key: _Optional[bytes] = ..., estimated_size: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class RepositoryData(_message.Message):
    __slots__ = ("id", "storage_namespace", "default_branch_id", "creation_date", "state", "instance_uid", "read_only", "storage_id", "address_namespace")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ACTIVE: _ClassVar[RepositoryData.State]
        IN_DELETION: _ClassVar[RepositoryData.State]
    ACTIVE: RepositoryData.State
    IN_DELETION: RepositoryData.State
    ID_FIELD_NUMBER: _ClassVar[int]
    STORAGE_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_BRANCH_ID_FIELD_NUMBER: _ClassVar[int]
    CREATION_DATE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_UID_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    STORAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    id: str
    storage_namespace: str
    default_branch_id: str
    creation_date: _timestamp_pb2.Timestamp
    state: RepositoryData.State
    instance_uid: str
    read_only: bool
    storage_id: str
    address_namespace: str
    def __init__(self, id: _Optional[str] = ..., storage_namespace: _Optional[str] = ..., default_branch_id: _Optional[str] = ..., creation_date: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[RepositoryData.State, str]] = ..., instance_uid: _Optional[str] = ..., read_only: _Optional[bool] = ..., storage_id: _Optional[str] = ..., address_namespace: _Optional[str] = ...) -> None: ...

class RepoMetadata(_message.Message):
    __slots__ = ("metadata",)
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class BranchData(_message.Message):
    __slots__ = ("id", "commit_id", "staging_token", "sealed_tokens", "hidden", "expires_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    STAGING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEALED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    commit_id: str
    staging_token: str
    sealed_tokens: _containers.RepeatedScalarFieldContainer[str]
    hidden: bool
    expires_at: int
    def __init__(self, id: _Optional[str] = ..., commit_id: _Optional[str] = ..., staging_token: _Optional[str] = ..., sealed_tokens: _Optional[_Iterable[str]] = ..., hidden: _Optional[bool] = ..., expires_at: _Optional[int] = ...) -> None: ...

class TagData(_message.Message):
    __slots__ = ("id", "commit_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    commit_id: str
    def __init__(self, id: _Optional[str] = ..., commit_id: _Optional[str] = ...) -> None: ...

class CommitData(_message.Message):
    __slots__ = ("id", "committer", "message", "creation_date", "meta_range_id", "metadata", "parents", "version", "generation")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    COMMITTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CREATION_DATE_FIELD_NUMBER: _ClassVar[int]
    META_RANGE_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    id: str
    committer: str
    message: str
    creation_date: _timestamp_pb2.Timestamp
    meta_range_id: str
    metadata: _containers.ScalarMap[str, str]
    parents: _containers.RepeatedScalarFieldContainer[str]
    version: int
    generation: int
    def __init__(self, id: _Optional[str] = ..., committer: _Optional[str] = ..., message: _Optional[str] = ..., creation_date: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., meta_range_id: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., parents: _Optional[_Iterable[str]] = ..., version: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class StagedEntryData(_message.Message):
    __slots__ = ("key", "identity", "data")
    KEY_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    identity: bytes
    data: bytes
    def __init__(self, key: _Optional[bytes] = ..., identity: _Optional[bytes] = ..., data: _Optional[bytes] = ...) -> None: ...

class LinkAddressData(_message.Message):
    __slots__ = ("address",)
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: _Optional[str] = ...) -> None: ...

class PullRequestData(_message.Message):
    __slots__ = ("id", "status", "created_at", "title", "author", "description", "source_branch", "destination_branch", "commit_id", "closed_at", "author_username", "approvals", "source_commit_id", "change_requests", "reviewers", "reviewer_groups")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OPEN: _ClassVar[PullRequestData.Status]
        CLOSED: _ClassVar[PullRequestData.Status]
        MERGED: _ClassVar[PullRequestData.Status]
    OPEN: PullRequestData.Status
    CLOSED: PullRequestData.Status
    MERGED: PullRequestData.Status
    class ApprovalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: PullRequestApproval
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[PullRequestApproval, _Mapping]] = ...) -> None: ...
    class ChangeRequestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: PullRequestApproval
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[PullRequestApproval, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_BRANCH_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_BRANCH_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    CLOSED_AT_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_USERNAME_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGE_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    REVIEWERS_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: PullRequestData.Status
    created_at: _timestamp_pb2.Timestamp
    title: str
    author: str
    description: str
    source_branch: str
    destination_branch: str
    commit_id: str
    closed_at: _timestamp_pb2.Timestamp
    author_username: str
    approvals: _containers.MessageMap[str, PullRequestApproval]
    source_commit_id: str
    change_requests: _containers.MessageMap[str, PullRequestApproval]
    reviewers: _containers.RepeatedScalarFieldContainer[str]
    reviewer_groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[PullRequestData.Status, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., title: _Optional[str] = ..., author: _Optional[str] = ..., description: _Optional[str] = ..., source_branch: _Optional[str] = ..., destination_branch: _Optional[str] = ..., commit_id: _Optional[str] = ..., closed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., author_username: _Optional[str] = ..., approvals: _Optional[_Mapping[str, PullRequestApproval]] = ..., source_commit_id: _Optional[str] = ..., change_requests: _Optional[_Mapping[str, PullRequestApproval]] = ..., reviewers: _Optional[_Iterable[str]] = ..., reviewer_groups: _Optional[_Iterable[str]] = ...) -> None: ...

class PullRequestApproval(_message.Message):
    __slots__ = ("commit_id", "review_id")
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    REVIEW_ID_FIELD_NUMBER: _ClassVar[int]
    commit_id: str
    review_id: str
    def __init__(self, commit_id: _Optional[str] = ..., review_id: _Optional[str] = ...) -> None: ...

class SecondaryIndex(_message.Message):
    __slots__ = ("primary_key",)
    PRIMARY_KEY_FIELD_NUMBER: _ClassVar[int]
    primary_key: bytes
    def __init__(self, primary_key: _Optional[bytes] = ...) -> None: ...

class GarbageCollectionRules(_message.Message):
    __slots__ = ("default_retention_days", "branch_retention_days")
    class BranchRetentionDaysEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DEFAULT_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    BRANCH_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    default_retention_days: int
    branch_retention_days: _containers.ScalarMap[str, int]
    def __init__(self, default_retention_days: _Optional[int] = ..., branch_retention_days: _Optional[_Mapping[str, int]] = ...) -> None: ...

class BranchProtectionBlockedActions(_message.Message):
    __slots__ = ("value", "required_approvals")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STAGING_WRITE: _ClassVar[BranchProtectionBlockedActions.Action]
        COMMIT: _ClassVar[BranchProtectionBlockedActions.Action]
    STAGING_WRITE: BranchProtectionBlockedActions.Action
    COMMIT: BranchProtectionBlockedActions.Action
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_APPROVALS_FIELD_NUMBER: _ClassVar[int]
    value: _containers.RepeatedScalarFieldContainer[BranchProtectionBlockedActions.Action]
    required_approvals: int
    def __init__(self, value: _Optional[_Iterable[_Union[BranchProtectionBlockedActions.Action, str]]] = ..., required_approvals: _Optional[int] = ...) -> None: ...

class BranchProtectionRules(_message.Message):
    __slots__ = ("branch_pattern_to_blocked_actions",)
    class BranchPatternToBlockedActionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: BranchProtectionBlockedActions
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[BranchProtectionBlockedActions, _Mapping]] = ...) -> None: ...
    BRANCH_PATTERN_TO_BLOCKED_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    branch_pattern_to_blocked_actions: _containers.MessageMap[str, BranchProtectionBlockedActions]
    def __init__(self, branch_pattern_to_blocked_actions: _Optional[_Mapping[str, BranchProtectionBlockedActions]] = ...) -> None: ...

class ImportStatusData(_message.Message):
    __slots__ = ("id", "completed", "updated_at", "progress", "metarange_id", "commit", "error")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    METARANGE_ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    id: str
    completed: bool
    updated_at: _timestamp_pb2.Timestamp
    progress: int
    metarange_id: str
    commit: CommitData
    error: str
    def __init__(self, id: _Optional[str] = ..., completed: _Optional[bool] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[int] = ..., metarange_id: _Optional[str] = ..., commit: _Optional[_Union[CommitData, _Mapping]] = ..., error: _Optional[str] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("id", "done", "updated_at", "progress", "error_msg", "status_code", "operation", "owner_instance_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_MSG_FIELD_NUMBER: _ClassVar[int]
    STATUS_CODE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    OWNER_INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    done: bool
    updated_at: _timestamp_pb2.Timestamp
    progress: int
    error_msg: str
    status_code: int
    operation: str
    owner_instance_id: str
    def __init__(self, id: _Optional[str] = ..., done: _Optional[bool] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[int] = ..., error_msg: _Optional[str] = ..., status_code: _Optional[int] = ..., operation: _Optional[str] = ..., owner_instance_id: _Optional[str] = ...) -> None: ...

class RepositoryDumpInfo(_message.Message):
    __slots__ = ("commits_metarange_id", "tags_metarange_id", "branches_metarange_id")
    COMMITS_METARANGE_ID_FIELD_NUMBER: _ClassVar[int]
    TAGS_METARANGE_ID_FIELD_NUMBER: _ClassVar[int]
    BRANCHES_METARANGE_ID_FIELD_NUMBER: _ClassVar[int]
    commits_metarange_id: str
    tags_metarange_id: str
    branches_metarange_id: str
    def __init__(self, commits_metarange_id: _Optional[str] = ..., tags_metarange_id: _Optional[str] = ..., branches_metarange_id: _Optional[str] = ...) -> None: ...

class RepositoryDumpStatus(_message.Message):
    __slots__ = ("task", "info")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    task: Task
    info: RepositoryDumpInfo
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., info: _Optional[_Union[RepositoryDumpInfo, _Mapping]] = ...) -> None: ...

class RepositoryRestoreStatus(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: Task
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ...) -> None: ...

class GarbageCollectionPrepareInfo(_message.Message):
    __slots__ = ("run_id", "gc_commits_location", "gc_addresses_location")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    GC_COMMITS_LOCATION_FIELD_NUMBER: _ClassVar[int]
    GC_ADDRESSES_LOCATION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    gc_commits_location: str
    gc_addresses_location: str
    def __init__(self, run_id: _Optional[str] = ..., gc_commits_location: _Optional[str] = ..., gc_addresses_location: _Optional[str] = ...) -> None: ...

class GarbageCollectionPrepareStatus(_message.Message):
    __slots__ = ("task", "info")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    task: Task
    info: GarbageCollectionPrepareInfo
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., info: _Optional[_Union[GarbageCollectionPrepareInfo, _Mapping]] = ...) -> None: ...

class CommitAsyncStatusData(_message.Message):
    __slots__ = ("task", "info")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    task: Task
    info: CommitData
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., info: _Optional[_Union[CommitData, _Mapping]] = ...) -> None: ...

class MergeData(_message.Message):
    __slots__ = ("reference",)
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    reference: str
    def __init__(self, reference: _Optional[str] = ...) -> None: ...

class MergeAsyncStatusData(_message.Message):
    __slots__ = ("task", "info")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    task: Task
    info: MergeData
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., info: _Optional[_Union[MergeData, _Mapping]] = ...) -> None: ...

class InstanceHeartbeat(_message.Message):
    __slots__ = ("updated_at",)
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MostlyCorrectOwnership(_message.Message):
    __slots__ = ("owner", "expires", "comment")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    owner: str
    expires: _timestamp_pb2.Timestamp
    comment: str
    def __init__(self, owner: _Optional[str] = ..., expires: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., comment: _Optional[str] = ...) -> None: ...

class UploadData(_message.Message):
    __slots__ = ("upload_id", "path", "creation_date", "physical_address", "metadata", "content_type", "partition", "branch", "block", "checksum_algorithm", "checksum_type", "finished_at", "e_tag", "checksum")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CREATION_DATE_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_TYPE_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    E_TAG_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    path: str
    creation_date: _timestamp_pb2.Timestamp
    physical_address: str
    metadata: _containers.ScalarMap[str, str]
    content_type: str
    partition: str
    branch: str
    block: str
    checksum_algorithm: str
    checksum_type: str
    finished_at: _timestamp_pb2.Timestamp
    e_tag: str
    checksum: str
    def __init__(self, upload_id: _Optional[str] = ..., path: _Optional[str] = ..., creation_date: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., physical_address: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., content_type: _Optional[str] = ..., partition: _Optional[str] = ..., branch: _Optional[str] = ..., block: _Optional[str] = ..., checksum_algorithm: _Optional[str] = ..., checksum_type: _Optional[str] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., e_tag: _Optional[str] = ..., checksum: _Optional[str] = ...) -> None: ...

class RunResultData(_message.Message):
    __slots__ = ("run_id", "branch_id", "commit_id", "source_ref", "event_type", "start_time", "end_time", "passed")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BRANCH_ID_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REF_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    branch_id: str
    commit_id: str
    source_ref: str
    event_type: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    passed: bool
    def __init__(self, run_id: _Optional[str] = ..., branch_id: _Optional[str] = ..., commit_id: _Optional[str] = ..., source_ref: _Optional[str] = ..., event_type: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., passed: _Optional[bool] = ...) -> None: ...

class TaskResultData(_message.Message):
    __slots__ = ("run_id", "hook_run_id", "hook_id", "action_name", "start_time", "end_time", "passed")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    HOOK_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    HOOK_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_NAME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    hook_run_id: str
    hook_id: str
    action_name: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    passed: bool
    def __init__(self, run_id: _Optional[str] = ..., hook_run_id: _Optional[str] = ..., hook_id: _Optional[str] = ..., action_name: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., passed: _Optional[bool] = ...) -> None: ...

class UserData(_message.Message):
    __slots__ = ("created_at", "username", "friendly_name", "email", "encrypted_password", "source", "external_id", "record_id", "session_epoch")
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    FRIENDLY_NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTED_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    RECORD_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_EPOCH_FIELD_NUMBER: _ClassVar[int]
    created_at: _timestamp_pb2.Timestamp
    username: str
    friendly_name: str
    email: str
    encrypted_password: bytes
    source: str
    external_id: str
    record_id: str
    session_epoch: str
    def __init__(self, created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., username: _Optional[str] = ..., friendly_name: _Optional[str] = ..., email: _Optional[str] = ..., encrypted_password: _Optional[bytes] = ..., source: _Optional[str] = ..., external_id: _Optional[str] = ..., record_id: _Optional[str] = ..., session_epoch: _Optional[str] = ...) -> None: ...

class GroupData(_message.Message):
    __slots__ = ("created_at", "display_name", "description")
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    created_at: _timestamp_pb2.Timestamp
    display_name: str
    description: str
    def __init__(self, created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., display_name: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class StringList(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class ConditionOperator(_message.Message):
    __slots__ = ("fields",)
    class FieldsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: StringList
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[StringList, _Mapping]] = ...) -> None: ...
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.MessageMap[str, StringList]
    def __init__(self, fields: _Optional[_Mapping[str, StringList]] = ...) -> None: ...

class StatementData(_message.Message):
    __slots__ = ("effect", "action", "resource", "condition")
    class ConditionEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ConditionOperator
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ConditionOperator, _Mapping]] = ...) -> None: ...
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    effect: str
    action: _containers.RepeatedScalarFieldContainer[str]
    resource: str
    condition: _containers.MessageMap[str, ConditionOperator]
    def __init__(self, effect: _Optional[str] = ..., action: _Optional[_Iterable[str]] = ..., resource: _Optional[str] = ..., condition: _Optional[_Mapping[str, ConditionOperator]] = ...) -> None: ...

class ACLData(_message.Message):
    __slots__ = ("permission",)
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    permission: str
    def __init__(self, permission: _Optional[str] = ...) -> None: ...

class PolicyData(_message.Message):
    __slots__ = ("created_at", "display_name", "statement", "acl")
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    created_at: _timestamp_pb2.Timestamp
    display_name: str
    statement: _containers.RepeatedCompositeFieldContainer[StatementData]
    acl: ACLData
    def __init__(self, created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., display_name: _Optional[str] = ..., statement: _Optional[_Iterable[_Union[StatementData, _Mapping]]] = ..., acl: _Optional[_Union[ACLData, _Mapping]] = ...) -> None: ...

class CredentialData(_message.Message):
    __slots__ = ("access_key_id", "secret_access_key_encrypted_bytes", "issued_date", "user_id", "record_id")
    ACCESS_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SECRET_ACCESS_KEY_ENCRYPTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    ISSUED_DATE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    RECORD_ID_FIELD_NUMBER: _ClassVar[int]
    access_key_id: str
    secret_access_key_encrypted_bytes: bytes
    issued_date: _timestamp_pb2.Timestamp
    user_id: bytes
    record_id: str
    def __init__(self, access_key_id: _Optional[str] = ..., secret_access_key_encrypted_bytes: _Optional[bytes] = ..., issued_date: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., user_id: _Optional[bytes] = ..., record_id: _Optional[str] = ...) -> None: ...

class TokenData(_message.Message):
    __slots__ = ("token_id", "expired_at")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_AT_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    expired_at: _timestamp_pb2.Timestamp
    def __init__(self, token_id: _Optional[str] = ..., expired_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
