"""Which groups may perform which operations: each operation once, with the least of the default
groups whose members may perform it. All members of a later group may as well.

"anyone" needs no authentication, "users" need no permission. Operations of S3 always need
authentication; DeleteObjects authorizes each key on its own.
"""

from __future__ import annotations

__all__ = ["GROUPS", "REST", "S3", "expected"]

GROUPS = ("anyone", "users", "Viewers", "Developers", "SuperUsers", "Admins")


def expected(table: dict[str, str], group: str) -> set[str]:
    """Returns the operations that members of a group may perform."""
    lesser = GROUPS[: GROUPS.index(group) + 1]
    listed = ";".join(table.get(each, "") for each in lesser)
    return {" ".join(name.split()) for name in listed.split(";")} - {""}


REST: dict[str, str] = {
    "anyone": """
        healthCheck; getSetupState; setup; setupCommPrefs; getCurrentUser; login; oauthCallback;
        getAuthCapabilities; externalPrincipalLogin; stsLogin; exchangeLoginCode; useSignInLink;
    """,
    "users": """
        getConfig; getLakeFSVersion; getGarbageCollectionConfig; postStatsEvents;
        listOwnPermissions; createSignInLink;
    """,
    "Viewers": """
        getStorageConfig; getUsageReportSummary; listRepositories; getRepository;
        getRepositoryMetadata; listBranches; getBranch; diffBranch; listTags; getTag; getCommit;
        logCommits; diffRefs; findMergeBase; listMergeConflicts; diffRows; dumpRefs;
        listRowConflicts; dumpSubmit; dumpStatus; getArchive; getObject;
        headObject; statObject; listObjects; getUnderlyingProperties; getMetaRange; getRange;
        getMetadataObject; getSnapshot; readObjects;
        importStatus; listPullRequests; getPullRequest; listImages; getImage;
        blameObjects; listPullRequestComments; listPullRequestReviews; getSweeps; putPin;
        renewPin; deletePin; queryObjects; previewObject; getObjectStatistics;
        previewTable; listTables; getView; listOperations; getOperation; undoOperation;
        listWorkspaces; getWorkspace;
        diffWorkspace; getWorkspaceReads; getPullRequestReads;
        getStorageReport; listUnmergedBranches; listDeletedNamespaces; listDeletedRepositories;
    """,
    "Developers": """
        createBranch; deleteBranch; resetBranch; hardResetBranch; revertBranch; cherryPick;
        getBranchProtectionRules; internalGetBranchProtectionRules; getGCRules; getUndoDays;
        getBranchEnds;
        internalGetGarbageCollectionRules; createTag; deleteTag; commit; CreateCommitRecord;
        mergeIntoBranch; restoreRefs; restoreSubmit; restoreStatus; uploadObject; deleteObject;
        deleteObjects; copyObject; updateObjectUserMetadata; uploadObjectPreflight; stageObject;
        getPhysicalAddress; linkPhysicalAddress; createPresignMultipartUpload;
        completePresignMultipartUpload; abortPresignMultipartUpload; uploadPart; uploadPartCopy;
        createSymlinkFile; createPullRequest; updatePullRequest; mergePullRequest;
        listRepositoryRuns; getRun; listRunHooks; getRunHookOutput; triggerActions;
        validateAction; commitAsync; commitAsyncStatus; mergeIntoBranchAsync;
        mergeIntoBranchAsyncStatus; buildImage;
        resolveImage; imageBuildStatus; moveObjects; copyObjects; createPullRequestComment;
        createPullRequestReview; revertCommits; rebaseBranch; changePullRequestReviewers;
        restoreBranch; restoreTag;
        createWorkspace; discardWorkspace; checkpointWorkspace; restoreWorkspace;
        undoInWorkspace;
        proposeWorkspace; mergeWorkspace; setBranchExpiry;
    """,
    "SuperUsers": """
        createRepository; deleteRepository; setRepositoryMetadata; deleteRepositoryMetadata;
        importStart; importCancel; deleteImage; purgeRepository; purgeNamespace;
        getPurgeStatus; listRepositoryNotifications; createRepositoryNotification;
        deleteRepositoryNotification; restoreReferences; restoreRepository;
    """,
    "Admins": """
        listUsers; createUser; getUser; deleteUser; listUserCredentials; createCredentials;
        getCredentials; deleteCredentials; listGroups; createGroup; getGroup; deleteGroup;
        listGroupMembers; addGroupMembership; deleteGroupMembership; listGroupPolicies;
        attachPolicyToGroup; detachPolicyFromGroup; listUserGroups; setGroupACL; getGroupACL;
        listPolicies; createPolicy; getPolicy; updatePolicy; deletePolicy; listUserPolicies;
        attachPolicyToUser; detachPolicyFromUser; setBranchProtectionRules;
        setBranchEnds;
        createBranchProtectionRulePreflight; internalCreateBranchProtectionRule;
        internalDeleteBranchProtectionRule; setGCRules; deleteGCRules;
        setGarbageCollectionRulesPreflight; internalSetGarbageCollectionRules;
        internalDeleteGarbageCollectionRules; prepareGarbageCollectionCommits;
        prepareGarbageCollectionCommitsAsync; prepareGarbageCollectionCommitsStatus;
        prepareGarbageCollectionUncommitted; listTableRecords; getExternalPrincipal;
        createUserExternalPrincipal;
        deleteUserExternalPrincipal; listUserExternalPrincipals; putSweep; deleteSweep;
        addTombstones; claimRemovedObjects; deleteTombstones; explainPermission;
        listAuditRecords; findGarbage; updateUser; endUserSessions;
        giveUpOperation; setUndoDays; forgetRepository; listInstallationOperations;
        getInstallationOperation; undoInstallationOperation;
    """,
}

S3: dict[str, str] = {
    "users": """
        DeleteObjects
    """,
    "Viewers": """
        ListBuckets; HeadBucket; GetBucket location; GetBucket cors; GetBucket accelerate;
        GetBucket acl; GetBucket logging; GetBucket notification; GetBucket requestPayment;
        GetBucket versioning; GetBucket encryption; GetBucket lifecycle; GetBucket
        object-lock; GetBucket ownershipControls; GetBucket policy; GetBucket policyStatus;
        GetBucket publicAccessBlock; GetBucket replication; GetBucket tagging; GetBucket
        website; GetObject acl; GetObject retention; GetObject legal-hold;
        SelectObjectContent; ListObjects; ListObjectsV2; ListObjectVersions; GetObject;
        HeadObject; GetObjectAttributes; GetObjectTagging; ListMultipartUploads; ListParts
    """,
    "Developers": """
        RestoreObject; PutObject; CopyObject; DeleteObject; PutObjectTagging;
        DeleteObjectTagging; CreateMultipartUpload; AbortMultipartUpload; UploadPart;
        UploadPartCopy; CompleteMultipartUpload
    """,
    "SuperUsers": """
        CreateBucket; DeleteBucket
    """,
}
