"""`login`, `config show` and `version` against a real server."""

from __future__ import annotations


def login(ana, server, secret, *options):
    return ana(
        *("login", "--server", server.url, "--access-key-id", server.access_key_id, *options),
        stdin=f"{secret}\n",
    )


def test_login_is_what_later_commands_use(run, home, server):
    ran = login(run, server, server.secret_access_key)
    path = home / ".config/anabranch/client.toml"
    assert (ran.code, ran.out) == (0, f"Wrote {path}\n")
    assert path.stat().st_mode & 0o777 == 0o600
    run.ok("repo", "list")
    secret = server.secret_access_key
    assert run.ok("config", "show").rows == [
        ["server", server.url, str(path)],
        ["access_key_id", server.access_key_id, str(path)],
        ["secret_access_key", f"{secret[:4]}********", str(path)],
    ]
    assert secret not in run.ok("config", "show", "--json").out


def test_wrong_credentials_are_not_written(run, home, server):
    ran = login(run, server, "wrong")
    assert ran.code == 1
    assert not (home / ".config/anabranch/client.toml").exists()
    assert login(run, server, "wrong", "--no-check").code == 0
    assert (home / ".config/anabranch/client.toml").exists()


def test_something_is_missing(run, server):
    assert login(run, server, "").code == 2
    assert run("login", "--server", server.url, stdin="secret").code == 2


def test_lakectl_settings_are_enough(run, home, server):
    (home / ".lakectl.yaml").write_text(
        f"credentials:\n  access_key_id: {server.access_key_id}\n"
        f"  secret_access_key: {server.secret_access_key}\n"
        f"server:\n  endpoint_url: {server.url}/api/v1\n"
    )
    run.ok("repo", "list")


def test_version(ana, server):
    ran = ana.ok("version")
    assert ran.lines[1].startswith("Server: ")
    assert "cannot reach" not in ran.out
    assert ran.lines[-1] == f"Address:       {server.url}"
