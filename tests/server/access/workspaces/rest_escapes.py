"""How a program with the keys of a workspace tries to get out by each operation of the API.

Each operation is here once: a new one fails the suite until it says how it is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["ESCAPES", "PUBLIC", "REFUSED", "Escape", "everywhere"]


def _words(text: str) -> list[str]:
    return text.split()


PUBLIC = _words("""
    healthCheck getSetupState setup setupCommPrefs login getAuthCapabilities oauthCallback
    externalPrincipalLogin stsLogin exchangeLoginCode useSignInLink readSignedBlock
    storeSignedBlock oidcLogin askCommandLineLogin allowCommandLineLogin logout
""")
"""Operations that ask for no credentials, and so give nothing for those of a workspace."""

REFUSED = _words("""
    getStorageConfig getGarbageCollectionConfig getUsageReportSummary postStatsEvents
    listUsers createUser getUser deleteUser listUserCredentials createCredentials getCredentials
    deleteCredentials listGroups createGroup getGroup deleteGroup listGroupMembers
    addGroupMembership deleteGroupMembership listGroupPolicies attachPolicyToGroup
    detachPolicyFromGroup listUserGroups setGroupACL getGroupACL getExternalPrincipal
    createUserExternalPrincipal deleteUserExternalPrincipal listUserExternalPrincipals
    listPolicies createPolicy getPolicy updatePolicy deletePolicy listUserPolicies
    attachPolicyToUser detachPolicyFromUser createRepository deleteRepository
    getRepositoryMetadata setRepositoryMetadata deleteRepositoryMetadata createBranch deleteBranch
    hardResetBranch revertBranch cherryPick getBranchProtectionRules setBranchProtectionRules
    createBranchProtectionRulePreflight internalGetBranchProtectionRules
    internalCreateBranchProtectionRule internalDeleteBranchProtectionRule getGCRules setGCRules
    deleteGCRules setGarbageCollectionRulesPreflight internalGetGarbageCollectionRules
    internalSetGarbageCollectionRules internalDeleteGarbageCollectionRules
    prepareGarbageCollectionCommits prepareGarbageCollectionCommitsAsync
    prepareGarbageCollectionCommitsStatus prepareGarbageCollectionUncommitted listTableRecords
    listTables getView
    listTags createTag getTag deleteTag CreateCommitRecord mergeIntoBranch findMergeBase dumpRefs
    restoreRefs dumpSubmit dumpStatus restoreSubmit restoreStatus getUnderlyingProperties
    stageObject
    getPhysicalAddress linkPhysicalAddress createPresignMultipartUpload
    completePresignMultipartUpload abortPresignMultipartUpload uploadPart uploadPartCopy
    createSymlinkFile getMetaRange getRange getMetadataObject importStart importStatus importCancel
    listPullRequests createPullRequest getPullRequest updatePullRequest mergePullRequest
    listRepositoryRuns getRun listRunHooks getRunHookOutput commitAsync commitAsyncStatus
    mergeIntoBranchAsync mergeIntoBranchAsyncStatus listImages buildImage resolveImage
    imageBuildStatus getImage deleteImage getStorageReport listUnmergedBranches findGarbage
    purgeRepository listDeletedNamespaces purgeNamespace getPurgeStatus listAuditRecords
    listRepositoryNotifications createRepositoryNotification deleteRepositoryNotification
    changePullRequestReviewers listPullRequestComments createPullRequestComment
    listPullRequestReviews createPullRequestReview validateAction triggerActions revertCommits
    rebaseBranch listMergeConflicts listRowConflicts listOperations getOperation getSweeps putSweep
    deleteSweep addTombstones claimRemovedObjects deleteTombstones putPin renewPin deletePin
    listOwnPermissions explainPermission updateUser endUserSessions createSignInLink
    createWorkspace listWorkspaces setBranchExpiry getBranchEnds setBranchEnds undoOperation
    restoreReferences restoreBranch restoreTag giveUpOperation getUndoDays setUndoDays
    getPullRequestReads listInstallationOperations getInstallationOperation
    undoInstallationOperation listDeletedRepositories restoreRepository forgetRepository
""")
"""Operations that are refused even on the workspace's own branch."""


class Escape(NamedTuple):
    """One attempt: the names in the request, its query and the fields of its body. `sees` is for a
    listing that is not refused, and must not show a secret; else the attempt is refused, or finds
    nothing if that `may_miss`.
    """

    names: Mapping[str, str] = MappingProxyType({})
    query: Mapping[str, str] = MappingProxyType({})
    body: Mapping[str, object] | None = None
    sees: bool = False
    may_miss: bool = False


OUTSIDE = (
    "main",
    "other",
    "v1",
    "{before}",
    "{later}",
    "{later_prefix}",
    "{workspace}~1",
    "{workspace}^",
    "{workspace}~0",
    "{workspace}@{{1 hour ago}}",
    "{source}~1",
    "{source}@",
    "{source_prefix}",
    "main@",
    "main$",
    "absent",
)
"""References that the workspace's keys do not reach; in braces, names of the world."""


def everywhere(*fields: str, **names: str) -> list[Escape]:
    """Returns attempts at all references outside, and at the own branch's name in another
    repository.
    """
    attempts = [Escape({**names, **dict.fromkeys(fields, each)}) for each in OUTSIDE]
    own = dict.fromkeys(fields, "{workspace}")
    foreign = dict.fromkeys(fields, "main")
    return [
        *attempts,
        Escape({**names, **own, "repository": "{foreign}"}),
        Escape({**names, **foreign, "repository": "{foreign}"}),
    ]


def _hidden(*fields: str) -> list[Escape]:
    """Returns attempts to read paths that are not readable, on the own branch."""
    return [
        Escape({**dict.fromkeys(fields, "{workspace}"), "path": path}, may_miss=".." in path)
        for path in ("secret/a.csv", "in/../secret/a.csv", "/secret/a.csv", "secret//a.csv")
    ]


def _unwritable(name: str = "path") -> list[Escape]:
    """Returns attempts to write paths that are not writable, on the own branch."""
    paths = (
        "in/a.csv",
        "secret/a.csv",
        "out/../in/a.csv",
        "/out/a.csv",
        "Out/a.csv",
        "out",
        "_lakefs_actions/a.yaml",
        "_lakefs_merge.yaml",
        "out/./a.csv",
    )
    return [Escape({"branch": "{workspace}", name: path}) for path in paths]


def _copies(source: str, destination: str, repository: str, reference: str) -> list[Escape]:
    own = {"branch": "{workspace}"}
    place = {destination: "out/copy.csv"}
    return [
        Escape(own, body={source: "in/later.csv", reference: "main", **place}),
        Escape(own, body={source: "in/gone.csv", reference: "{before}", **place}),
        Escape(own, body={source: "in/gone.csv", reference: "{workspace}~1", **place}),
        Escape(own, body={source: "in/a.csv", repository: "{foreign}", reference: "main", **place}),
        Escape(own, body={source: "in/a.csv", repository: "{foreign}", **place}),
        Escape(own, body={source: "secret/a.csv", **place}),
        Escape(own, body={source: "in/a.csv", destination: "in/copy.csv"}),
        Escape(own, body={source: "in/a.csv", destination: "_lakefs_actions/a.yaml"}),
        Escape({"branch": "main"}, body={source: "in/a.csv", **place}),
        Escape({"branch": "main"}, body={source: "in/a.csv", reference: "{workspace}", **place}),
    ]


def _query(sql: str, **tables: str) -> Escape:
    return Escape({"ref": "{workspace}"}, body={"sql": sql, "tables": tables})


_ADDRESSES = (
    "lakefs://{repository}/main/in/later.csv",
    "lakefs://{repository}/main/in/*.csv",
    "lakefs://{repository}/other/in/other.csv",
    "lakefs://{repository}/v1/in/tagged.csv",
    "lakefs://{repository}/{before}/in/gone.csv",
    "lakefs://{repository}/{workspace}~1/in/gone.csv",
    "lakefs://{repository}/{workspace}/secret/a.csv",
    "lakefs://{foreign}/main/in/a.csv",
)

_FUNCTIONS = (
    "objects('{repository}', 'main')",
    "objects('{repository}', '{before}')",
    "objects('{foreign}', 'main')",
    "object_metadata('{repository}', 'other')",
    "commits('{repository}', 'main')",
    "commits('{foreign}', 'main')",
    "changes('{repository}', '{source}', 'main')",
    "changes('{repository}', 'main', '{workspace}')",
    "changes('{repository}', '{workspace}', 'main$')",
    "changes('{repository}', '{before}', '{workspace}')",
    "delta_table('lakefs://{repository}/main/in')",
    "iceberg_table('lakefs://{repository}/main/in')",
)

ESCAPES: dict[str, list[Escape]] = {
    "getConfig": [Escape(sees=True)],
    "getLakeFSVersion": [Escape(sees=True)],
    "getCurrentUser": [Escape(sees=True)],
    "listRepositories": [Escape(sees=True)],
    "getRepository": [Escape({"repository": "{foreign}"})],
    "listBranches": [Escape({"repository": "{foreign}"}), Escape(sees=True)],
    "getBranch": everywhere("branch"),
    "resetBranch": everywhere("branch"),
    "diffBranch": everywhere("branch"),
    "commit": [
        *everywhere("branch"),
        Escape({"branch": "{workspace}"}, {"source_metarange": "a" * 64}),
    ],
    "getCommit": everywhere("commitId"),
    "logCommits": [
        *everywhere("ref"),
        Escape({"ref": "{workspace}"}, {"stop_at": "main"}),
        Escape({"ref": "{workspace}"}, {"after": "main"}),
        Escape({"ref": "{workspace}"}, {"after": "{later_prefix}"}),
        Escape({"ref": "{workspace}"}, {"after": "abcd"}),
        Escape({"ref": "{workspace}"}, {"objects": "secret/a.csv"}),
        Escape({"ref": "{workspace}"}, {"prefixes": ""}),
    ],
    "diffRefs": [
        *everywhere("leftRef", rightRef="{workspace}"),
        *everywhere("rightRef", leftRef="{workspace}"),
        *everywhere("leftRef", "rightRef"),
    ],
    "diffRows": [
        *everywhere("leftRef", rightRef="{workspace}", path="in/a.csv"),
        *everywhere("rightRef", leftRef="{workspace}", path="in/a.csv"),
        *_hidden("leftRef", "rightRef"),
    ],
    "getObject": [
        *everywhere("ref", path="in/a.csv"),
        *_hidden("ref"),
        Escape({"ref": "{workspace}", "path": "in/a.csv"}, {"presign": "true"}),
    ],
    "headObject": [*everywhere("ref", path="in/a.csv"), *_hidden("ref")],
    "statObject": [
        *everywhere("ref", path="in/a.csv"),
        *_hidden("ref"),
        Escape({"ref": "{workspace}", "path": "in/a.csv"}, {"presign": "true"}),
    ],
    "listObjects": [
        *everywhere("ref"),
        Escape({"ref": "{workspace}"}, {"presign": "true"}),
        Escape({"ref": "{workspace}"}, sees=True),
        Escape({"ref": "{workspace}"}, {"prefix": "secret/"}, sees=True),
        Escape({"ref": "{workspace}"}, {"delimiter": "/"}, sees=True),
    ],
    "getArchive": [
        *everywhere("ref", path="in/a.csv"),
        *_hidden("ref"),
        Escape({"ref": "{workspace}", "path": "secret/"}, sees=True),
    ],
    "readObjects": [
        *everywhere("ref"),
        Escape({"ref": "{workspace}"}, body={"paths": ["in/a.csv", "secret/a.csv"]}),
    ],
    "getSnapshot": everywhere("ref"),
    "blameObjects": [
        *everywhere("ref"),
        Escape({"ref": "{workspace}"}, {"prefix": "secret/"}, sees=True),
    ],
    "previewObject": [*everywhere("ref", path="in/a.csv"), *_hidden("ref")],
    "getObjectStatistics": [*everywhere("ref", path="in/a.csv"), *_hidden("ref")],
    "previewTable": everywhere("ref", path="in/"),
    "queryObjects": [
        *everywhere("ref"),
        *(_query(f"SELECT * FROM '{each}'") for each in _ADDRESSES),
        *(_query(f"SELECT * FROM read_csv('{each}')") for each in _ADDRESSES),
        *(_query("SELECT * FROM t", t=each) for each in ("secret/a.csv", "../main/in/later.csv")),
        *(_query(f"SELECT * FROM {each}") for each in _FUNCTIONS),
    ],
    "uploadObject": [*everywhere("branch", path="out/a.csv"), *_unwritable()],
    "uploadObjectPreflight": [*everywhere("branch", path="out/a.csv"), *_unwritable()],
    "deleteObject": [*everywhere("branch", path="out/old.csv"), *_unwritable()],
    "deleteObjects": [
        *everywhere("branch"),
        Escape({"branch": "{workspace}"}, body={"paths": ["out/old.csv", "in/a.csv"]}),
    ],
    "updateObjectUserMetadata": [*everywhere("branch", path="out/old.csv"), *_unwritable()],
    "copyObject": [
        Escape(
            dict(each.names) | {"dest_path": str((each.body or {}).get("dest_path"))},
            body={key: value for key, value in (each.body or {}).items() if key != "dest_path"},
        )
        for each in _copies("src_path", "dest_path", "src_repository", "src_ref")
    ],
    "copyObjects": [
        *_copies("source_path", "destination_path", "source_repository", "source_ref"),
        Escape({"branch": "{workspace}"}, body={"source_path": "", "destination_path": "out/"}),
        Escape({"branch": "{workspace}"}, body={"source_path": "in/", "destination_path": ""}),
    ],
    "moveObjects": [
        *_copies("source_path", "destination_path", "source_repository", "source_ref"),
        Escape(
            {"branch": "{workspace}"},
            body={"source_path": "out/", "source_ref": "main", "destination_path": "out/moved/"},
        ),
        Escape({"branch": "{workspace}"}, body={"source_path": "in/", "destination_path": "out/"}),
    ],
    "getWorkspace": everywhere("workspace"),
    "discardWorkspace": everywhere("workspace"),
    "checkpointWorkspace": everywhere("workspace"),
    "restoreWorkspace": everywhere("workspace"),
    "undoInWorkspace": everywhere("workspace"),
    "diffWorkspace": [
        *everywhere("workspace"),
        Escape({"workspace": "{workspace}"}, {"prefix": "secret/"}, sees=True),
    ],
    "proposeWorkspace": everywhere("workspace"),
    "mergeWorkspace": everywhere("workspace"),
    "getWorkspaceReads": everywhere("workspace"),
}
"""The attempts by each operation that the keys may perform on their own branch."""
