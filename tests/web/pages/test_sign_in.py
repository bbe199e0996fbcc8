"""Signing in, signing out, and the first setup."""

from __future__ import annotations

import re
import uuid
from urllib.parse import urlencode

import httpx2
import pytest
from playwright.sync_api import expect
from support.services.scripted_provider import CLIENT_ID, CLIENT_SECRET, running_provider
from support.session.free_port import free_port

from anabranch.testing.server import running_server


def fill_in(page, key, secret):
    page.get_by_label("Access key ID").fill(key)
    page.get_by_label("Secret access key").fill(secret)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_key_pair_signs_in(open_page, site):
    page = open_page(site, signed_in=False)
    page.goto("/")
    fill_in(page, *site.auth)
    expect(page).to_have_url(re.compile("/repositories$"))
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()


def test_wrong_keys_stay_on_the_page_and_are_told(open_page, site):
    page = open_page(site, signed_in=False)
    page.goto("/auth/login")
    fill_in(page, site.access_key_id, "wrong")
    expect(page.get_by_role("alert")).to_contain_text("You are not signed in")
    expect(page).to_have_url(re.compile("/auth/login$"))
    expect(page.get_by_label("Access key ID")).to_have_value(site.access_key_id)
    fill_in(page, *site.auth)
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()


def test_signing_in_returns_to_the_page_that_was_asked_for(open_page, site, repository):
    repository.put("a.txt")
    page = open_page(site, signed_in=False)
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    fill_in(page, *site.auth)
    expect(page).to_have_url(re.compile(f"/repositories/{repository.name}/objects.ref=main$"))
    expect(page.get_by_role("link", name="a.txt")).to_be_visible()


@pytest.mark.parametrize("target", ["//example.org/", "https://example.org/", "/\\example.org"])
def test_signing_in_never_leads_to_another_site(open_page, site, target):
    page = open_page(site, signed_in=False)
    page.goto(f"/auth/login?next={target}")
    fill_in(page, *site.auth)
    expect(page).to_have_url(f"{site.url}/repositories")


def test_secret_and_token_are_not_readable_by_scripts(open_page, site):
    page = open_page(site, signed_in=False)
    page.goto("/auth/login")
    fill_in(page, *site.auth)
    expect(page.get_by_role("heading", name="Repositories")).to_be_visible()
    stored = page.evaluate(
        "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
    )
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    session = cookies["internal_auth_session"]
    assert session["httpOnly"]
    assert session["sameSite"] in {"Lax", "Strict"}
    assert session["value"] not in stored
    assert site.secret_access_key not in stored


def test_signing_out_ends_the_session(page, site):
    page.goto("/repositories")
    cookies = page.context.cookies()
    page.get_by_role("button", name="User tester").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_label("Access key ID")).to_be_visible()
    page.context.add_cookies(cookies)  # a copy of the session's cookie is worth nothing now
    page.goto("/repositories")
    expect(page.get_by_label("Access key ID")).to_be_visible()
    assert page.url.startswith(site.url)


def test_ended_session_leads_to_sign_in_and_back(page, site, repository):
    repository.put("a.txt")
    page.goto(f"/repositories/{repository.name}/objects?ref=main")
    expect(page.get_by_role("link", name="a.txt")).to_be_visible()
    page.context.clear_cookies()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Refresh").click()
    expect(page).to_have_url(re.compile(r"/auth/login\?next="))
    fill_in(page, *site.auth)
    expect(page.get_by_role("link", name="a.txt")).to_be_visible()


def test_first_setup_shows_keys_that_sign_in(open_page, tmp_path):
    nobody = {
        "ANABRANCH_INSTALLATION_USER_NAME": "",
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": "",
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": "",
    }
    with running_server(tmp_path, env=nobody) as server:
        page = open_page(server, signed_in=False)
        page.goto("/")
        page.get_by_label("Administrator's name").fill("ada")
        page.get_by_role("button", name="Set up").click()
        expect(page.get_by_role("heading", name="Keep these keys")).to_be_visible()
        key, secret = page.locator("dd code").all_inner_texts()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the configuration").click()
        configuration = download.value.path().read_text()
        assert key in configuration
        assert secret in configuration
        page.get_by_role("link", name="Go to sign in").click()
        fill_in(page, key, secret)
        expect(page.get_by_role("button", name="User ada")).to_be_visible()


@pytest.mark.parametrize("is_default", [False, True], ids=["offered", "preferred"])
@pytest.mark.sample(1)
def test_provider_signs_in_and_leads_back(open_page, tmp_path, is_default):
    with running_provider() as provider:
        provider.claims = {"sub": "1", "preferred_username": "jane"}
        port = free_port()
        settings = {
            "ENABLED": "true",
            "URL": provider.issuer,
            "CLIENT_ID": CLIENT_ID,
            "CLIENT_SECRET": CLIENT_SECRET,
            "CALLBACK_BASE_URL": f"http://127.0.0.1:{port}/",
            "DEFAULT_INITIAL_GROUPS": "Viewers",
            "IS_DEFAULT_LOGIN": str(is_default).lower(),
        }
        env = {f"ANABRANCH_AUTH_OIDC_{name}": value for name, value in settings.items()}
        with running_server(tmp_path, listen=f"127.0.0.1:{port}", env=env) as server:
            page = open_page(server, signed_in=False)
            page.goto("/repositories?search=sea")
            expect(page.get_by_label("Access key ID")).to_be_visible()
            page.get_by_role("link", name="Sign in with single sign-on").click()
            expect(page.get_by_role("button", name="User jane")).to_be_visible()
            expect(page).to_have_url(f"{server.url}/repositories?search=sea")


def test_command_line_login_signs_in_with_a_key_pair_without_single_sign_on(open_page, site):
    login = {"port": "4242", "state": "s" * 32, "challenge": "c" * 43}
    page = open_page(site, signed_in=False)
    page.goto(f"/auth/cli?{urlencode(login)}")
    expect(page).to_have_url(re.compile(r"/auth/login\?next="))
    fill_in(page, site.access_key_id, "wrong")
    expect(page.get_by_role("alert")).to_contain_text("You are not signed in")
    fill_in(page, *site.auth)
    expect(page.get_by_role("heading", name="Log in on the command line?")).to_be_visible()
    expect(page).to_have_url(f"{site.url}/auth/cli?{urlencode(login)}")
    expect(page.get_by_role("link", name="Allow")).to_be_visible()


def link_of(site, auth):
    """Returns the path of a link that signs in the user of a key pair."""
    link = httpx2.post(f"{site.api}/auth/links", auth=auth).json()
    fields = {"user": link["username"], "code": link["code"], "next": "/repositories?search=sea"}
    return f"/auth/link#{urlencode(fields)}"


def test_a_link_signs_in_once_and_asks_before_it_leads_into_a_colleagues_account(open_page, site):
    name = f"link {uuid.uuid4().hex[:8]}"
    with httpx2.Client(base_url=site.api, auth=site.auth) as api:
        api.post("/auth/users", json={"id": name})
        pair = api.post(f"/auth/users/{name}/credentials").json()
        api.put(f"/auth/groups/Viewers/members/{name}")
    page = open_page(site, signed_in=False)
    link, colleague = link_of(site, site.auth), (pair["access_key_id"], pair["secret_access_key"])
    page.goto(link)
    expect(page).to_have_url(f"{site.url}/repositories?search=sea")
    expect(page.get_by_role("button", name="User tester")).to_be_visible()

    page.goto(link)  # used: it says so, and leaves the session as it is
    expect(page.get_by_role("alert")).to_contain_text("used before")
    expect(page).to_have_url(f"{site.url}/auth/link")
    page.goto(link_of(site, colleague))  # in the same document: the fragment alone differs
    expect(page.get_by_text(f"as {name}, in place of tester")).to_be_visible()
    page.get_by_role("link", name="Stay signed in as tester").click()
    expect(page.get_by_role("button", name="User tester")).to_be_visible()

    page.context.clear_cookies()
    page.goto(link_of(site, colleague))
    expect(page.get_by_role("button", name=f"Sign in as {name}")).to_be_visible()
    assert page.context.cookies() == []
    page.get_by_role("button", name=f"Sign in as {name}").click()
    expect(page.get_by_role("button", name=f"User {name}")).to_be_visible()


@pytest.mark.parametrize("target", ["/auth/cli/allow?confirm=x", "/logout"])
@pytest.mark.sample(1)
def test_signing_in_never_leads_to_an_act_of_the_server(open_page, site, target):
    page = open_page(site, signed_in=False)
    page.goto(f"/auth/login?{urlencode({'next': target})}")
    fill_in(page, *site.auth)
    expect(page).to_have_url(f"{site.url}/repositories")
    expect(page.get_by_role("button", name="User tester")).to_be_visible()
