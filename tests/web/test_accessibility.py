"""axe-core finds nothing wrong on any page, in light and dark, wide and as narrow as 320 pixels."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from playwright.sync_api import expect
from support.browser.conditions import settle, wait_until
from support.repository_calls import call

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def shown(shared_repository, tmp_path_factory):
    """A repository with something on each page."""
    repository = shared_repository
    folder = tmp_path_factory.mktemp("delta")
    write_deltalake(folder, pa.table({"place": ["Tonga"], "metres": [10820]}), partition_by="place")
    for file in filter(Path.is_file, folder.rglob("*")):
        repository.put(f"depths/{file.relative_to(folder).as_posix()}", file.read_bytes())
    repository.put("README.md", b"# The sea\n\n*Text*, `code`, [a link](data/a.csv).\n")
    repository.put("data/a.csv", b"place,metres\nMariana,10935\n")
    repository.commit("First depths")
    diverge(repository)
    repository.put("data/b.csv", b"place,metres\nJava,7192\n")
    repository.delete("data/a.csv")
    return repository


def diverge(repository):
    """Adds a branch that conflicts with main, and what people say of it."""
    repository.branch("dev")
    repository.put("README.md", b"# The deep sea\n", branch="dev")
    repository.put("data/c.csv", b"place,metres\nTonga,10820\n", branch="dev")
    repository.commit("Deeper", branch="dev")
    repository.put("README.md", b"# The wide sea\n")
    repository.commit("Wider")
    call(repository, "POST", "tags", {"id": "v1", "ref": "dev"})
    rules = [{"pattern": "release-*", "required_approvals": 1}]
    call(repository, "PUT", "settings/branch_protection", rules)
    ends = [{"pattern": "tmp-*", "expires": "7d"}]
    call(repository, "PUT", "settings/branch_ends", ends)
    retention = {
        "default_retention_days": 21,
        "branches": [{"branch_id": "dev", "retention_days": 7}],
    }
    call(repository, "PUT", "settings/gc_rules", retention)
    pull = {"title": "Deeper", "description": "**Look**", "source_branch": "dev"}
    pull = call(repository, "POST", "pulls", {**pull, "destination_branch": "main"})["id"]
    for place in ({}, {"line": 1}, {"line": 9}, {"row": {"place": "Tonga"}}):
        comment = {"text": "Why?", "path": "data/c.csv" if "row" in place else "README.md"}
        call(repository, "POST", f"pulls/{pull}/comments", {**comment, **place})
    asked = {"add": [{"name": "Admins", "kind": "group"}]}
    call(repository, "PATCH", f"pulls/{pull}/reviewers", asked)
    target = {"url": "https://chat.example/x", "events": ["reviewed", "commented"]}
    call(repository, "POST", "settings/notifications", target)
    call(repository, "POST", f"pulls/{pull}/reviews", {"state": "approved", "text": "*Good*"})
    image = {"lakefile": f"FROM lakefs://{repository.name}/main\nLABEL sea=wide\n"}
    assert repository.api.post(f"/images/{repository.name}", json=image).is_success
    repository.pull = pull


PAGES = {
    "sign in": ("/auth/login", ""),
    "repositories": ("/repositories", ""),
    "deleted repositories": ("/repositories?deleted=1", ""),
    "create repository": ("/repositories", "button:Create repository"),
    "data": ("{repository}/objects?ref=main", ""),
    "empty folder": ("{repository}/objects?ref=main&path=none/", ""),
    "missing reference": ("{repository}/objects?ref=none", ""),
    "upload": ("{repository}/objects?ref=main", "button:Upload"),
    "actions on an object": ("{repository}/objects?ref=main", "button:Actions on README.md"),
    "references": ("{repository}/objects?ref=main", "button:Reference: main"),
    "palette": ("{repository}/objects?ref=main", "key:Control+k"),
    "object": ("{repository}/object?ref=main&path=README.md", ""),
    "history of an object": ("{repository}/object?ref=main&path=README.md&tab=history", ""),
    "information": ("{repository}/object?ref=main&path=README.md&tab=information", ""),
    "metadata": ("{repository}/object?ref=main&path=README.md&tab=metadata", ""),
    "tables": ("{repository}/tables?ref=main", ""),
    "no tables": ("{repository}/tables?ref=main&search=none", ""),
    **{
        f"{tab} of a table": ("{repository}/table?ref=main&path=depths/&compare=dev&tab=" + tab, "")
        for tab in ("schema", "snapshots", "sizes", "sample", "compare", "use")
    },
    "changes": ("{repository}/changes?ref=main", ""),
    "commit": ("{repository}/changes?ref=main", "button:Commit"),
    "not found": ("/no/such/page", ""),
    "compare": ("{repository}/compare?ref=main&compare=dev&open=README.md", ""),
    "compare facts": (
        "{repository}/compare?ref=main&compare=dev&open=data/c.csv&view=facts",
        "",
    ),
    "merge": (
        "{repository}/compare?ref=main&compare=dev&merge=1",
        "show:Show the versions of README.md",
    ),
    "query": ("{repository}/query?ref=main&sql=SELECT 1", ""),
    "history": ("{repository}/commits?ref=main", ""),
    "commit page": ("{repository}/commits/v1", ""),
    "revert": ("{repository}/commits/v1", "menu:Actions on this commit:Revert on a branch"),
    "branches": ("{repository}/branches", ""),
    "branches that are not merged": ("{repository}/branches?unmerged=size", ""),
    "create branch": ("{repository}/branches", "button:Create branch"),
    "tags": ("{repository}/tags", ""),
    "general settings": ("{repository}/settings/general", ""),
    "protection": ("{repository}/settings/branches", ""),
    "ends of branches": ("{repository}/settings/ends", ""),
    "add an end": ("{repository}/settings/ends", "button:Add rule"),
    "retention": ("{repository}/settings/retention", ""),
    "notifications": ("{repository}/settings/notifications", ""),
    "add an address": ("{repository}/settings/notifications", "button:Add address"),
    "rows of a pull request": ("{repository}/pulls/{pull}?tab=changes&open=data/c.csv", ""),
    "metadata of a repository": ("{repository}/settings/metadata", ""),
    "pull requests": ("{repository}/pulls", ""),
    "create pull request": ("{repository}/pulls/create?source=dev&destination=main", ""),
    "pull request": ("{repository}/pulls/{pull}", ""),
    "changes of a pull request": ("{repository}/pulls/{pull}?tab=changes&open=README.md", ""),
    "actions": ("{repository}/actions", ""),
    "action files": ("{repository}/action-files?ref=main", ""),
    "new action file": ("{repository}/action-files/edit?ref=main", ""),
    "activity": ("{repository}/activity", ""),
    "storage": ("{repository}/storage", "show:As a table"),
    "images": ("/images", ""),
    "image": ("/images/tags/{image}", ""),
    "build image": ("/images/build?from={image}", ""),
    "users": ("/auth/users", ""),
    "create user": ("/auth/users", "button:Create user"),
    "groups of a user": ("/auth/users/tester", "button:Add to groups"),
    "access keys of a user": ("/auth/users/tester/credentials", ""),
    "members": ("/auth/groups/Admins", ""),
    "policies": ("/auth/policies", "button:Create policy"),
    "policy": ("/auth/policies/FSReadWriteAll", ""),
    "explanation": ("/auth/explain?user=tester&action=fs:ReadObject&resource=*", ""),
    "activity of the installation": ("/auth/activity", ""),
    "audit": ("/auth/audit", ""),
    "own access keys": ("/auth/credentials", ""),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.sample(1)
def test_page_has_no_violations_and_fits_the_width(open_page, site, shown, axe, name):
    path, action = PAGES[name]
    page = open_page(site, signed_in=name != "sign in")
    places = {"repository": f"/repositories/{shown.name}", "pull": shown.pull}
    page.goto(path.format(**places, image=shown.name))
    expect(page.locator("h1").first).to_be_attached()
    settle(page)
    act(page, action)
    page.evaluate(axe)
    violations = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate(
            "rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", RULES
        )
        for violation in result["violations"]:
            where = [node["html"] for node in violation["nodes"][:3]]
            violations.append((scheme, violation["id"], where))
    assert violations == []
    for width in (1920, 640, 320):
        page.set_viewport_size({"width": width, "height": 700})
        wait_until(page, "width => document.documentElement.scrollWidth <= width", width)


def act(page, action):
    kind, _, name = action.partition(":")
    if kind == "button":
        page.get_by_role("button", name=name, exact=True).first.click()
        expect(page.locator("dialog, [popover]").first).to_be_visible()
    elif kind == "show":
        page.get_by_text(name).or_(page.get_by_label(name, exact=True)).click()
        settle(page)
    elif kind == "menu":
        button, _, entry = name.partition(":")
        page.get_by_role("button", name=button).click()
        page.get_by_role("menuitem", name=entry).click()
        expect(page.locator("dialog").first).to_be_visible()
    elif kind == "key":
        page.keyboard.press(name)
        expect(page.locator("dialog").first).to_be_visible()
