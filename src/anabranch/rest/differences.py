"""How operations differ from those of lakeFS 1.84; those that are not listed have the same
behaviour.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

__all__ = ["DIFFERENCES", "Difference", "State"]


class State(Enum):
    """How an operation compares with that of lakeFS."""

    SAME = "same"
    EXTENDED = "extended"
    """Requests that work with lakeFS have the same responses; others work too."""
    DIFFERS = "differs"


class Difference(NamedTuple):
    """The state of an operation, and what differs."""

    state: State
    how: str


def _extension(how: str) -> Difference:
    return Difference(State.EXTENDED, how)


def _differs(how: str) -> Difference:
    return Difference(State.DIFFERS, how)


_SIDES = "`include_sides` adds the objects of both sides"
_SHOWN = "`include_hidden` says which branches are hidden, `include_expiry` when they expire"
_KEYED = "accepts an `Idempotency-Key`"
_IMPORTABLE = "`fs:ImportFromStorage`"
_TREE = (
    f"addresses that `source_metarange` adds need {_IMPORTABLE}; a path that was staged and "
    "removed before leaves no trace in the tree's id"
)
_CONFLICTS = "a conflict lists the paths"
_CONTENTION = "concurrent requests wait for each other; in lakeFS some fail with 429 or 500"
_EFFECTIVE = "an ARN that no resource of the statement's actions can have is refused"
_MERGE_BASE = "the merge base is git's best common ancestor; lakeFS may choose an older one"

DIFFERENCES: Final = {
    "commit": _differs(f"{_TREE}; {_KEYED}; {_CONTENTION}"),
    "mergeIntoBranch": _differs(
        f"{_MERGE_BASE}, and loses some conflicts of large trees; `resolutions` and rules for "
        "single paths, `dry_run`; hooks see the merged result, and run by its action files; "
        f"{_KEYED}; {_CONTENTION}"
    ),
    "listRunHooks": _differs(
        "to `lakefs-sdk`, which knows no status `skipped`, a skipped hook has that of its run"
    ),
    "findMergeBase": _differs(_MERGE_BASE),
    "diffRefs": _differs(
        "`right` may be `branch$`, which includes staged changes; with a delimiter, pages lose no "
        f"changes; {_SIDES}"
    ),
    "diffBranch": _differs(f"with a delimiter, pages lose no changes; {_SIDES}"),
    "revertBranch": _differs(f"{_CONFLICTS}; `strategy` and `resolutions`; {_KEYED}"),
    "cherryPick": _differs(
        f"{_CONFLICTS}; `strategy` and `resolutions`; {_KEYED}; the metadata of the original "
        "commit do not change"
    ),
    "hardResetBranch": _differs(
        f"refuses a branch with uncommitted changes, which lakeFS leaves on it; {_KEYED}"
    ),
    "createBranch": _differs(
        f"names have at most 1,024 bytes and may hold `:`; `expires` ends the branch; {_KEYED}"
    ),
    "deleteBranch": _extension(_KEYED),
    "createTag": _differs(f"names have at most 1,024 bytes and may hold `:`; {_KEYED}"),
    "deleteTag": _extension(_KEYED),
    "getCommit": _differs("a parent that does not exist is 400 or 404, not 500"),
    "createRepository": _differs("an invalid name of the default branch is 400"),
    "updateObjectUserMetadata": _extension("`force` for a repository that is read-only"),
    "listObjects": _differs(
        "with a delimiter, a page that begins within a common prefix does not repeat the prefix"
    ),
    "getObject": _differs(
        "responses say `Accept-Ranges: bytes`, as those of `headObject`; browsers show content in "
        "a sandbox; `pin` and `version` read one version of an object in several requests"
    ),
    "headObject": _differs("a range of an empty object is 416 or the whole object, as in RFC 9110"),
    "deleteObjects": _differs(
        "on an unknown branch 404; an empty path fails alone; `include_kinds` adds what "
        "kind an error has"
    ),
    "stageObject": _differs(
        "without a token of `getPhysicalAddress` for the path, an address needs "
        f"{_IMPORTABLE}; works with local stores too"
    ),
    "CreateCommitRecord": _differs(
        f"addresses that the first parent does not have need {_IMPORTABLE}"
    ),
    "restoreSubmit": _differs(f"addresses outside of the repository's data need {_IMPORTABLE}"),
    "getMetadataObject": _differs("needs `fs:ReadObject` on all objects"),
    "getPhysicalAddress": _differs("`presign=true` without presigned URLs is 400, not 500"),
    "uploadObject": _differs(
        "an unknown `storageClass` and numbers out of range are 400, always in JSON; Azure and "
        "Google ignore `storageClass`; `X-Anabranch-Metadata` holds metadata that headers cannot"
    ),
    "getUnderlyingProperties": _differs(
        "`STANDARD` of S3 is named; local and Google stores have no class"
    ),
    "getRange": _differs("needs `fs:ReadObject` on all objects; an unknown id is 404, not 200"),
    "getMetaRange": _differs("needs `fs:ReadObject` on all objects; an unknown id is 404, not 200"),
    "setGCRules": _differs("a negative number of days is 400"),
    "setBranchProtectionRules": _differs(
        "a malformed pattern is 400; rules take effect at once, on other servers within a second"
    ),
    "importStart": _differs(
        "the destination prefix is replaced completely; an empty folder is refused, and a single "
        "object replaces one path; in lakeFS an empty folder empties the destination, and an "
        "object removes all paths that begin with its own"
    ),
    "linkPhysicalAddress": _differs(
        "an address without an object, or with one of another size, is 400 "
        "(`blockstore.require_linked_objects`); outside of the repository's data, an address needs "
        f"{_IMPORTABLE}"
    ),
    "logCommits": _differs(
        "`stop_at` stops also at a commit that `objects`, `prefixes` or `after` leave out"
    ),
    "getGCRules": _differs("rules without branches have an empty list, not null"),
    "getRepository": _differs("a name that no repository can have is 404, not 400"),
    "internalGetBranchProtectionRules": _differs("the response has an ETag of the rules"),
    "listBranches": _differs(f"of a parameter that is repeated, the first value counts; {_SHOWN}"),
    "getBranch": _extension(_SHOWN),
    "listPullRequests": _differs("an empty `status` is 400 in JSON"),
    "createSymlinkFile": _differs(
        "each manifest has the objects of its own folder, and those of empty folders are removed; "
        "lakeFS writes each folder the addresses of the previous one and fails without objects; "
        "folders that a local store cannot have, such as `a//`, have none"
    ),
    "createUser": _differs(
        "a name that differs from another user's only in case, blanks or invisible characters is "
        "refused"
    ),
    "createPolicy": _differs(_EFFECTIVE),
    "updatePolicy": _differs(_EFFECTIVE),
    "login": _differs("pages of other sites cannot log in; the cookie is `SameSite=Strict`"),
    "createPullRequest": _differs(f"403 in a read-only repository; {_KEYED}"),
    "updatePullRequest": _differs(
        "the status `merged` is 400: lakeFS sets it although nothing is merged; 403 in a "
        f"read-only repository; {_KEYED}"
    ),
    "mergePullRequest": _extension(
        f"requires the approvals that a protection rule names, and then takes no strategy; {_KEYED}"
    ),
    "copyObject": _differs(
        "copying an object whose bytes are missing is an error; `shallow` refers to the bytes of "
        "the source, which lakeFS refuses; `src_repository`; `If-None-Match: *`"
    ),
    "dumpRefs": _extension("the dump is consistent while others write"),
    "restoreRefs": _differs(
        "all or nothing; objects that are being swept are refused; addresses outside of the "
        f"repository's data need {_IMPORTABLE}"
    ),
    "getUsageReportSummary": _differs("counts requests of the REST API and of S3"),
    "postStatsEvents": _differs("counters of clients are validated and discarded"),
    "setupCommPrefs": _differs("preferences are validated and discarded"),
    "prepareGarbageCollectionCommits": _extension(
        "`every=true` includes expired commits; works with local stores"
    ),
    "prepareGarbageCollectionUncommitted": _extension(
        "`paths=true` adds the path of each staged object; unfinished uploads are included"
    ),
    "createPresignMultipartUpload": _extension("works with local, Azure and Google stores too"),
    "completePresignMultipartUpload": _extension("works with local, Azure and Google stores too"),
    "abortPresignMultipartUpload": _extension("works with local, Azure and Google stores too"),
    "uploadPart": _extension("works with local, Azure and Google stores too"),
    "uploadPartCopy": _extension("works with local, Azure and Google stores too"),
    "getConfig": _extension("the version is Anabranch's, in addition to lakeFS's"),
    "getLakeFSVersion": _extension("the version is Anabranch's, in addition to lakeFS's"),
}
