"""lakefs-sdk: pull requests, and rules that require approvals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx2
import lakefs_sdk
import pytest
from lakefs_sdk.exceptions import ApiException


class Pulls:
    """The pull requests of a repository whose branch `side` is one commit ahead of `main`."""

    def __init__(self, sdk, repo):
        self.api, self.id = sdk.pulls_api, repo.id

    def create(self, source="side", destination="main", title="t", **fields):
        creation = lakefs_sdk.PullRequestCreation(
            title=title, source_branch=source, destination_branch=destination, **fields
        )
        return self.api.create_pull_request(self.id, creation).id

    def get(self, pull_id):
        return self.api.get_pull_request(self.id, pull_id)

    def update(self, pull_id, **changes):
        self.api.update_pull_request(self.id, pull_id, lakefs_sdk.PullRequestBasic(**changes))

    def merge(self, pull_id):
        return self.api.merge_pull_request(self.id, pull_id).reference

    def all(self, **parameters):
        """Returns the pull requests of all pages."""
        found, after = [], ""
        while True:
            page = self.api.list_pull_requests(self.id, after=after, **parameters)
            found += page.results
            if not page.pagination.has_more:
                return found
            after = page.pagination.next_offset


@pytest.fixture
def pulls(sdk, repo):
    repo.branch("side")
    repo.save("new", branch="side")
    return Pulls(sdk, repo)


def test_life_of_a_pull_request(repo, pulls):
    pull_id = pulls.create(description="d")
    made = pulls.get(pull_id)
    assert (made.status, made.title, made.description, made.id) == ("open", "t", "d", pull_id)
    assert (made.source_branch, made.destination_branch) == ("side", "main")
    assert (made.merged_commit_id, made.closed_date) == (None, None)
    pulls.update(pull_id, status="closed")
    assert pulls.get(pull_id).closed_date >= made.creation_date
    pulls.update(pull_id, status="open", title="new", description="")
    assert pulls.get(pull_id).closed_date is None
    merged = pulls.merge(pull_id)
    done = pulls.get(pull_id)
    assert (done.status, done.merged_commit_id, done.title) == ("merged", merged, "new")
    assert (repo.head().id, repo.paths()) == (merged, ["new"])
    assert repo.head().message == "Merge 'side' into 'main'"
    assert made.author == repo.head().committer


def test_errors(repo, pulls, refused):
    with refused(404, "branch not found"):
        pulls.create(source="none")
    with refused(404, "branch not found"):
        pulls.create(destination="none")
    with refused(400, "same branch"):
        pulls.create(source="main")
    for call in (pulls.get, pulls.merge, pulls.update):
        with refused(404, "pull request not found"):
            call("ceh8bs1ksduasdr2aobg")
    empty, pull_id = pulls.create("main", "side"), pulls.create()
    with refused(400, "no changes"):
        pulls.merge(empty)
    with refused(400, "bad pull request status"):
        pulls.update(pull_id, status="merged")
    pulls.update(pull_id, status="closed")
    with refused(400, "bad pull request status"):
        pulls.merge(pull_id)
    pulls.update(pull_id, status="open")
    pulls.merge(pull_id)
    with refused(400, "bad pull request status"):
        pulls.merge(pull_id)
    assert repo.paths() == ["new"]


def test_conflict_leaves_the_pull_request_open(repo, pulls, refused):
    pull_id = pulls.create()
    head = repo.save("new", b"other").id
    with refused(409) as caught:
        pulls.merge(pull_id)
    assert '"reference":""' in caught.value.body
    assert (pulls.get(pull_id).status, repo.head().id) == ("open", head)


@pytest.mark.parametrize("gone", ["side", "target"])
def test_branch_that_is_gone(sdk, repo, pulls, refused, gone):
    repo.branch("target")
    pull_id = pulls.create(destination="target")
    sdk.branches_api.delete_branch(repo.id, gone)
    with refused(404, "branch not found"):
        pulls.merge(pull_id)
    assert pulls.get(pull_id).status == "open"


def test_pages_show_what_has_the_status(repo, pulls):
    repo.branch("merged")
    repo.save("other", branch="merged")
    sources = ["merged" if number == 4 else "side" for number in range(9)]
    ids = [pulls.create(source, title=str(number)) for number, source in enumerate(sources)]
    pulls.merge(ids[4])
    for number in (0, 7):
        pulls.update(ids[number], status="closed")
    numbers = {"open": [8, 6, 5, 3, 2, 1], "closed": [7, 4, 0], "all": [*range(8, -1, -1)]}
    for status, expected in numbers.items():
        for amount in (1, 2, 5, 1000):
            found = [int(pull.title) for pull in pulls.all(status=status, amount=amount)]
            assert found == expected
    assert [pull.id for pull in pulls.all(prefix=ids[2])] == [ids[2]]
    with pytest.raises(ApiException, match="not one of the allowed values"):
        pulls.all(status="merged")


def test_of_many_merges_at_once_one_succeeds(repo, pulls):
    pull_id = pulls.create()

    def merge(_):
        try:
            return pulls.merge(pull_id)
        except ApiException as error:
            return error.status, error.body

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(merge, range(8)))
    (merged,) = [result for result in results if isinstance(result, str)]
    others = {result for result in results if result != merged}
    assert others == {(400, '{"message":"bad pull request status"}\n')}
    assert pulls.get(pull_id).merged_commit_id == repo.head().id == merged
    assert len([commit for commit in repo.log() if len(commit.parents) == 2]) == 1


def test_deleted_repository_takes_its_pull_requests_along(sdk, repo, pulls, refused):
    pull_id = pulls.create()
    sdk.repositories_api.delete_repository(repo.id)
    with refused(404, "repository not found"):
        pulls.get(pull_id)
    with refused(404, "repository not found"):
        pulls.all()


def test_rules_that_the_client_rewrites_keep_their_approvals(sdk, repo, pulls, server, refused):
    settings = sdk.repositories_api
    url = f"{server.url}/api/v1/repositories/{repo.id}/settings/branch_protection"
    rules = [{"pattern": "main", "required_approvals": 1}, {"pattern": "x"}]
    assert httpx2.put(url, json=rules, auth=server.auth).status_code == 204
    read = settings.get_branch_protection_rules(repo.id)
    assert [rule.pattern for rule in read] == ["main", "x"]
    settings.set_branch_protection_rules(
        repo.id, [*read, lakefs_sdk.BranchProtectionRule(pattern="y")]
    )
    pull_id = pulls.create()
    with refused(403, "1 of 1 required approval is missing"):
        pulls.merge(pull_id)
    with refused(403, "without a pull request"):
        repo.merge("side")
    settings.set_branch_protection_rules(repo.id, read[1:])
    pulls.merge(pull_id)
    assert repo.paths() == ["new"]
