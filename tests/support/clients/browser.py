"""A browser for tests of logins: it keeps cookies by path and follows redirections."""

from __future__ import annotations

import httpx2

from anabranch.access.sessions.tokens import SESSION_COOKIE

__all__ = ["Browser"]

LOGIN_COOKIE = "anabranch_oidc_login"
_MAX_REDIRECTIONS = 10


class Browser(httpx2.Client):
    """A browser at a server of ours."""

    def __init__(self, server: str) -> None:
        super().__init__(timeout=30, headers={"Accept": "text/html,*/*;q=0.8"})
        self.server = server

    def go(self, url: str) -> httpx2.Response:
        """Returns the first response of this server's pages, or of a page of another server that
        does not redirect: where a login waits for its user, or where it ended.
        """
        response = self.get(url)
        for _ in range(_MAX_REDIRECTIONS):
            place = response.next_request
            if place is None:
                break
            if str(place.url).startswith(self.server) and "/oidc/" not in place.url.path:
                break
            response = self.send(place)
        return response

    @property
    def session(self) -> str | None:
        """The session's token."""
        return next((each.value for each in self.cookies.jar if each.name == SESSION_COOKIE), None)

    @property
    def attempt(self) -> str | None:
        """The cookie of a login that was begun."""
        return next((each.value for each in self.cookies.jar if each.name == LOGIN_COOKIE), None)

    def username(self) -> str:
        """Returns the name of the logged-in user, empty for none."""
        user = self.get(f"{self.server}/api/v1/user").json()["user"]
        return str(user["id"])
