"""What a person can do about an error, by the error's kind.

An error that is raised without a hint has the one of its kind, or else that of its class. Kinds are
in this table if the same next step helps wherever they are raised; commands and settings are named
as users type them.
"""

from __future__ import annotations

__all__ = ["HINTS"]

_A_DAY = "Give the branch on which it runs; what it did is forgotten after a day."

HINTS = {
    # names that do not exist
    "branch_not_found": "`anabranch branch list` lists the branches of a repository.",
    "build_not_found": "Builds are forgotten after a day: `anabranch image ls` lists the images.",
    "commit_not_found": "`anabranch log` lists the commits of a branch.",
    "credentials_not_found": "`anabranch auth users credentials list` lists those of a user.",
    "external_principal_not_found": "`anabranch auth users aws-iam list` lists those of a user.",
    "gc_rules_not_found": "`anabranch gc set-config` sets the rules of a repository.",
    "group_not_found": "`anabranch auth groups list` lists the groups.",
    "hook_run_not_found": "`anabranch actions list` lists the runs of hooks.",
    "image_not_found": "`anabranch image ls` lists the images.",
    "import_not_found": "Imports are forgotten after a day: `anabranch log` shows the commits.",
    "deletion_not_found": "`anabranch op log` lists what has changed branches and tags.",
    "operation_not_found": "`anabranch op log` lists those of the last 30 days.",
    "invalid_endpoint": "/openapi.json describes the operations, whose paths begin with /api/v1.",
    "listing_not_found": "Give the path of a file or folder on this machine, or a full address.",
    "merge_base_not_found": "Copy the objects instead, or import them.",
    "metarange_not_found": "Write its tables to the repository's storage namespace first.",
    "nothing_to_import": "Check the listing, and the prefix if one is given.",
    "object_not_found": "`anabranch fs ls` lists the objects of a branch; paths distinguish case.",
    "policy_not_found": "`anabranch auth policies list` lists the policies.",
    "pull_request_not_found": "`anabranch pr list` lists the pull requests of a repository.",
    "repository_not_found": "`anabranch repo list` lists the repositories.",
    "rule_not_found": "`anabranch branch-protect list` lists the rules of a repository.",
    "run_not_found": "`anabranch actions list` lists the runs of hooks.",
    "source_not_found": "Check the address, and whether the server's credentials may read it.",
    "iceberg_table_not_found": "List the tables of the namespace; names distinguish case.",
    "iceberg_view_not_found": "List the views of the namespace; names distinguish case.",
    "namespace_not_found": "List the namespaces of the branch, or create this one.",
    "table_not_found": "Give the ID of a range or metarange of a commit of this repository.",
    "tag_not_found": "`anabranch tag list` lists the tags of a repository.",
    "task_not_found": _A_DAY,
    "upload_not_found": "Begin the upload again.",
    "user_not_found": "`anabranch auth users list` lists the users.",
    # names that are taken
    "external_principal_exists": "Detach it from its user: `anabranch auth users aws-iam detach`.",
    "name_is_a_branch": "Choose another name: a branch has this one.",
    "name_is_a_commit": "Choose another name: a commit has this one as its ID.",
    "name_is_a_tag": "Choose another name: a tag has this one.",
    # values that are refused
    "access_key_taken": "Leave the access key out: the server generates one.",
    "address_with_line_break": "Move the object to a path without a line break.",
    "address_elsewhere": "`anabranch repo show` prints the storage namespace.",
    "body_too_large": "Send less at once, or an object by a multipart upload.",
    "checksum_mismatch": "Upload the part again: its bytes were changed on the way.",
    "checksum_required": "Give the ETag with which the object store responded to the upload.",
    "host_missing": "Send the header Host, as HTTP/1.1 requires it.",
    "invalid_continuation_token": "Begin the listing again without a token.",
    "invalid_import_source": "Name objects outside the repository's storage namespace.",
    "invalid_part_order": "Sort the parts by their numbers.",
    "invalid_pin": "Pin the commits of a long job in several pins.",
    "invalid_merge_options": "The options of each strategy are in docs/merging.md.",
    "link_address_expired": "Ask for a new address, and upload to it again.",
    "link_address_invalid": "Link the address that the server returned, to its path.",
    "move_into_itself": "Choose a destination that is not in the source.",
    "name_clash": "Choose another path: here, a name is either a file or a folder.",
    "no_parts": "Upload a part first, or abort the upload.",
    "parent_number_needed": "Name the parent to compare with: 1 is the merge's own branch.",
    "parent_out_of_range": "`anabranch show` lists a commit's parents; the first is number 1.",
    "part_not_found": "Upload the part, and list each with the ETag that its upload returned.",
    "part_too_large": "Divide the object into smaller parts.",
    "part_too_small": "Make all parts but the last larger.",
    "physical_address_required": "Ask for an address first, and upload to it.",
    "physical_address_wrong": "Use the address that began the upload.",
    "redirect_refused": "Give the address to which the service redirects.",
    "response_too_large": "Ask for fewer results at once: set amount, and continue with after.",
    "too_many_addresses": "Send them in several requests.",
    "too_many_paths": "Send them in several requests.",
    "unknown_external_principal": "Attach it: `anabranch auth users aws-iam attach`.",
    "wrong_size": "List all parts of the upload, each once.",
    # the state of the branch, the repository or the server
    "merge_failed": "Choose another strategy for the path, or change one of the two sides.",
    "actions_disabled": "Set it to true in the settings of the server.",
    "build_stopped": "Start the build again.",
    "data_missing": "Restore it from a backup; `anabranch gc restore` if a sweep removed it.",
    "database_unreachable": "Check database.postgres.connection_string; is PostgreSQL running?",
    "database_unusable": "Check database.postgres.connection_string and the user's rights.",
    "library_missing": "Install the extra that the message names on the server.",
    "namespace_changed": "Read the namespace again, and repeat the change.",
    "namespace_not_empty": "Drop its tables, views and namespaces first.",
    "path_already_exists": "Delete or rename the object first, or allow that it is overwritten.",
    "repository_in_deletion": "Wait until it is deleted; its name is free then.",
    "task_ended": "Start another one.",
    "too_many_files": "Raise the limit of open files (`ulimit -n`) of the server's process.",
    "too_many_hooks": "Try again later, or raise actions.concurrency.",
    "unsupported_condition": "Leave the header out: only If-None-Match: * is supported.",
    "table_changed": "Read the table again, and repeat the change on what it is now.",
}
"""The hints of errors that are raised without one."""
