"""Long commits, merges and imports, which go on while one does something else."""

from __future__ import annotations

import re
import signal
import threading

import httpx2
import pytest
from playwright.sync_api import expect
from support.eventually import eventually
from support.faults.faulty_proxy import FaultyProxy
from support.hooks.deciding_webhook import deciding_webhook
from support.repository_calls import call
from support.session.free_port import free_port

from anabranch.testing.server import running_server

WAIT_SECONDS = 60
TIME_HAS_PASSED = re.compile(r"\d:(?!00)\d\d")


class Gate:
    """A hook that holds up commits or merges until it is opened."""

    def __init__(self, webhook):
        self.webhook = webhook
        self.answer = True
        self._open = threading.Event()
        webhook.decide = self._decide

    def open(self, *, accepts=True):
        self.answer = accepts
        self._open.set()

    def action(self, event):
        hook = f"  type: webhook\n  properties: {{url: '{self.webhook.url}'}}\n"
        return f"name: gate\non: {{{event}: }}\nhooks:\n- id: ask\n{hook}".encode()

    def _decide(self, _):
        return self._open.wait(WAIT_SECONDS) and self.answer


@pytest.fixture
def gate():
    with deciding_webhook() as webhook:
        gate = Gate(webhook)
        yield gate
        gate.open()


@pytest.fixture
def held_up(repository, gate):
    """A repository whose commits on main wait for the gate."""
    repository.put("_lakefs_actions/gate.yaml", gate.action("pre-commit"))
    return repository


@pytest.fixture
def diverged(repository, gate):
    """A repository whose merges wait for the gate; dev has a change for main."""
    repository.put("_lakefs_actions/gate.yaml", gate.action("pre-merge"))
    repository.commit("Rules")
    repository.branch("dev")
    repository.put("new.txt", branch="dev")
    repository.commit("New", branch="dev")
    return repository


def begin_commit(page, name, message="Long work"):
    page.goto(f"/repositories/{name}/changes?ref=main")
    page.get_by_role("button", name="Commit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Commit to main")
    dialog.get_by_label("Message").fill(message)
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(dialog.get_by_role("progressbar", name="Committing")).to_be_visible()
    return dialog


def begin_merge(page, url):
    page.goto(url)
    panel = page.get_by_role("region", name="Merge dev into main")
    panel.get_by_role("button", name="Merge into main").click()
    expect(panel.get_by_role("progressbar", name="Merging")).to_be_visible()
    return panel


def background(page):
    return page.get_by_role("region", name="In the background")


def test_commit_shows_elapsed_time_and_promises_no_cancelling(page, held_up, gate):
    dialog = begin_commit(page, held_up.name)
    expect(dialog).to_contain_text(TIME_HAS_PASSED)
    expect(dialog.get_by_role("button", name="Cancel")).to_have_count(0)
    gate.open()
    expect(page.get_by_text("Committed to main as")).to_be_visible()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("No uncommitted changes")).to_be_visible()
    expect(background(page)).to_have_count(0)
    assert held_up.head()["message"] == "Long work"


def test_commit_goes_on_on_other_pages_and_after_the_page_is_loaded_again(page, held_up, gate):
    before = held_up.head()["id"]
    dialog = begin_commit(page, held_up.name)
    dialog.get_by_role("button", name="Continue in the background").click()
    expect(dialog).to_have_count(0)
    expect(background(page)).to_contain_text("Committing to main")
    page.get_by_role("link", name="Branches", exact=True).click()
    expect(background(page)).to_contain_text("Committing to main")
    page.reload()
    expect(background(page)).to_contain_text("Committing to main")
    assert held_up.head()["id"] == before
    gate.open()
    expect(background(page)).to_contain_text("Committed to main")
    page.reload()  # the outcome stays until it is dismissed
    commit = held_up.head()["id"]
    background(page).get_by_role("link", name=commit[:12]).click()
    expect(page).to_have_url(re.compile(f"/commits/{commit}"))
    background(page).get_by_role("button", name="Dismiss: Committing to main").click()
    expect(background(page)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="Long work")).to_be_visible()
    expect(background(page)).to_have_count(0)


@pytest.mark.slow  # as one that goes on, above
def test_page_that_is_left_or_loaded_again_during_a_commit_tells_its_outcome(page, held_up, gate):
    begin_commit(page, held_up.name)
    page.reload()
    expect(background(page)).to_contain_text("Committing to main")
    gate.open(accepts=False)
    expect(background(page)).to_contain_text("Nothing was committed to main")
    expect(background(page).get_by_role("alert")).to_contain_text("gate")
    expect(page.get_by_role("link", name="gate.yaml, added")).to_be_visible()


@pytest.mark.parametrize("received", [100, 250], ids=["in its head", "in its body"])
@pytest.mark.sample(1)
def test_commit_is_followed_after_a_response_that_breaks_off(
    open_page, site, held_up, gate, received
):
    _, _, port = site.url.rpartition(":")
    with FaultyProxy(("127.0.0.1", int(port))) as proxy:
        page = open_page(site._replace(url=f"http://127.0.0.1:{proxy.port}"))
        dialog = begin_commit(page, held_up.name)
        connections = proxy.connections
        proxy.pass_answers(received)
        eventually(lambda: proxy.connections > connections)
        expect(dialog.get_by_role("progressbar", name="Committing")).to_be_visible()
        gate.open()
        expect(page.get_by_text("Committed to main as")).to_be_visible()


@pytest.mark.slow  # as its button does
def test_escape_leaves_a_commit_to_the_background(page, held_up, gate):
    dialog = begin_commit(page, held_up.name)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(background(page)).to_contain_text("Committing to main")
    gate.open()
    expect(page.get_by_text("No uncommitted changes")).to_be_visible()


def test_refused_commit_keeps_the_message_and_can_be_tried_again(page, held_up, gate):
    dialog = begin_commit(page, held_up.name)
    gate.open(accepts=False)
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was committed")
    expect(dialog.get_by_label("Message")).to_have_value("Long work")
    gate.open()
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(page.get_by_text("Committed to main as")).to_be_visible()
    assert held_up.head()["message"] == "Long work"


@pytest.mark.slow  # an error of the API, as others
def test_hint_of_a_failed_commit_is_told(page, repository):
    repository.put("a.txt")
    page.goto(f"/repositories/{repository.name}/changes?ref=main")
    page.get_by_role("button", name="Commit", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Late")
    repository.commit("Somebody else was faster")
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was committed")
    expect(dialog.get_by_role("alert")).to_contain_text("Allow an empty commit")


def test_commit_whose_first_response_is_lost_is_made_once(page, held_up, gate):
    gate.open()

    def lose(route):
        assert route.fetch().status == 202
        route.abort()

    page.route("**/commits/async", lose)
    page.goto(f"/repositories/{held_up.name}/changes?ref=main")
    page.get_by_role("button", name="Commit", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Once")
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("It is not known whether there is a commit")
    page.unroute_all()
    dialog.get_by_role("button", name="Commit", exact=True).click()
    expect(page.get_by_text("Committed to main as")).to_be_visible()
    messages = [
        commit["message"] for commit in call(held_up, "GET", "refs/main/commits")["results"]
    ]
    assert messages.count("Once") == 1
    assert len(gate.webhook.events) == 1


def test_merge_goes_on_in_the_background(page, diverged, gate):
    url = f"/repositories/{diverged.name}/compare?ref=main&compare=dev&merge=1"
    panel = begin_merge(page, url)
    panel.get_by_role("button", name="Continue in the background").click()
    expect(background(page)).to_contain_text("Merging dev into main")
    page.get_by_role("link", name="Data", exact=True).click()
    gate.open()
    expect(background(page)).to_contain_text("dev merged into main")
    expect(page.get_by_role("grid").get_by_role("link", name="new.txt")).to_be_visible()


@pytest.mark.slow  # so is a merge, above
def test_pull_request_that_is_left_while_it_is_merged_is_merged(page, diverged, gate):
    body = {"title": "New", "source_branch": "dev", "destination_branch": "main"}
    pull = call(diverged, "POST", "pulls", body)["id"]
    url = f"/repositories/{diverged.name}/pulls/{pull}"
    panel = begin_merge(page, f"{url}?merge=1")
    expect(panel).to_contain_text("the pull request shows whether it is merged")
    page.get_by_role("link", name="Data", exact=True).click()
    expect(page).to_have_url(re.compile("/objects"))
    gate.open()
    expect(page.get_by_text("dev merged into main")).to_be_visible()
    expect(page).to_have_url(re.compile("/objects"))
    page.goto(url)
    expect(page.get_by_text("merged as")).to_be_visible()


def test_tasks_of_somebody_else_who_used_the_tab_are_not_shown(page, held_up, api, site):
    begin_commit(page, held_up.name).get_by_role("button", name="Continue in the").click()
    expect(background(page)).to_be_visible()
    api.post("/auth/users", json={"id": "web-other"})
    api.put("/auth/groups/Admins/members/web-other").raise_for_status()
    keys = api.post("/auth/users/web-other/credentials").raise_for_status().json()
    page.context.clear_cookies()
    login = {name: keys[name] for name in ("access_key_id", "secret_access_key")}
    assert page.context.request.post(f"{site.api}/auth/login", data=login).ok
    page.reload()
    expect(page.get_by_role("button", name="User web-other")).to_be_visible()
    expect(page.get_by_role("link", name="gate.yaml, added")).to_be_visible()
    expect(background(page)).to_have_count(0)


@pytest.mark.slow  # waits as long as a server does
def test_server_that_restarts_during_a_commit_tells_that_nothing_was_committed(
    open_page, tmp_path, gate
):
    env = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1"}
    address = f"127.0.0.1:{free_port()}"
    with running_server(tmp_path / "data", listen=address, env=env) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            creation = {"name": "sea", "storage_namespace": "local://sea"}
            api.post("/repositories", json=creation).raise_for_status()
            path = {"path": "_lakefs_actions/gate.yaml"}
            objects = "/repositories/sea/branches/main/objects"
            api.post(objects, params=path, content=gate.action("pre-commit")).raise_for_status()
        page = open_page(server)
        dialog = begin_commit(page, "sea")
        # the server waits some seconds for its work, and then says that it was interrupted
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()
        expect(dialog.get_by_text("The server does not respond")).to_be_visible()
    with running_server(tmp_path / "data", listen=address, env=env):
        expect(dialog.get_by_role("alert")).to_contain_text("Nothing was committed")
        expect(dialog.get_by_role("alert")).to_contain_text("start it again")
        gate.open()
        dialog.get_by_role("button", name="Commit", exact=True).click()
        expect(page.get_by_text("Committed to main as")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow  # a size of the page; the dialog's work is above
def test_background_work_is_accessible_and_fits_a_narrow_page(
    open_page, site, held_up, axe, scheme
):
    page = open_page(site, color_scheme=scheme, viewport={"width": 320, "height": 640})
    dialog = begin_commit(page, held_up.name)
    expect(dialog).to_contain_text(TIME_HAS_PASSED)
    assert problems(page, axe) == []
    page.keyboard.press("Escape")
    expect(background(page)).to_be_visible()
    assert problems(page, axe) == []


def problems(page, axe):
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run().then(run => run.violations.map(each => each.id + ': ' + each.nodes[0].html))"
    )
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("the page scrolls sideways")
    for button in page.get_by_role("dialog").get_by_role("button").all():
        box = button.bounding_box()
        if box["x"] < 0 or box["x"] + box["width"] > page.viewport_size["width"]:
            found.append(f"{button.inner_text()} is cut off")
    return found


@pytest.mark.slow  # web/tests/tasks; left later above
def test_commit_that_is_left_before_it_has_started_is_told_of(page, held_up, gate):
    starting = []

    def hold(route):
        starting.append(route)

    page.route("**/commits/async", hold)
    page.goto(f"/repositories/{held_up.name}/branches")
    page.get_by_role("link", name="Changes", exact=True).click()
    page.get_by_role("button", name="Commit", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Late")
    with page.expect_request("**/commits/async"):
        dialog.get_by_role("button", name="Commit", exact=True).click()
    page.go_back()
    expect(dialog).to_have_count(0)
    starting[0].continue_()
    expect(background(page)).to_contain_text("Committing to main")
    gate.open()
    expect(background(page)).to_contain_text("Committed to main")
    expect(page).to_have_url(re.compile("/branches$"))
