"""Settings from all their sources, and what is wrong with them, named with its place."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.server.config.field import declared, value_of, variable
from anabranch.server.config.loader import load_settings
from anabranch.server.config.settings import Settings

SECRET = "sesame-open-sesame"


def write(path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def load(tmp_path, flags=None, environment=None, config=None):
    return load_settings(flags or {}, environment or {}, config, folder=tmp_path)


def refused(tmp_path, **given) -> str:
    with pytest.raises(Invalid) as error:
        load(tmp_path, **given)
    assert error.value.kind in ("invalid_settings", "bad_settings_file")
    return error.value.message


def test_defaults(tmp_path):
    loaded = load(tmp_path, {"data": "/srv/lake"})
    settings = loaded.settings
    assert str(settings.listen_address) == "127.0.0.1:8000"
    assert settings.workers == 1
    assert settings.database.local.path == Path("/srv/lake/metadata")
    assert settings.blockstore.local.path == Path("/srv/lake/block")
    assert settings.committed.local_cache.dir == Path("/srv/lake/cache")
    assert settings.auth.cache.ttl == 20
    assert loaded.places == {"data": "the flag for data"}
    assert loaded.warnings == ()


def test_given_paths_are_not_below_the_data_folder(tmp_path):
    settings = load(tmp_path, {"data": "/a", "blockstore.local.path": "/b"}).settings
    assert settings.blockstore.local.path == Path("/b")
    assert settings.database.local.path == Path("/a/metadata")


def test_flags_before_environment_before_file(tmp_path):
    write(tmp_path / "anabranch.toml", 'workers = 1\n[logging]\nlevel = "ERROR"\nformat = "json"')
    environment = {"ANABRANCH_WORKERS": "2", "ANABRANCH_LOGGING_LEVEL": "debug"}
    loaded = load(tmp_path, {"workers": 3, "data": None}, environment)
    assert loaded.settings.workers == 3
    assert loaded.settings.logging.level == "DEBUG"
    assert loaded.settings.logging.format == "json"
    assert loaded.places == {
        "workers": "the flag for workers",
        "logging.level": "ANABRANCH_LOGGING_LEVEL",
        "logging.format": f"{tmp_path}/anabranch.toml:logging.format",
    }


def test_a_file_that_is_named_is_read_instead_of_the_default(tmp_path):
    write(tmp_path / "anabranch.toml", "workers = 5")
    other = write(tmp_path / "other.toml", "[auth.cache]\nttl = '1m'")
    settings = load(tmp_path, config=other).settings
    assert (settings.workers, settings.auth.cache.ttl) == (1, 60)


def test_the_environment_names_every_setting(tmp_path):
    samples = {
        "str": "text",
        "Path": "/somewhere",
        "int": "3",
        "Seconds": "7s",
        "tuple": "a=1,b=2",
        "Address": "h:1",
        "PageUrl": "https://docs.example/",
        "Secret": SECRET,
    }
    variables = {variable(name) for name in declared()}
    assert len(variables) == len(declared())
    environment = {}
    for name, setting in declared().items():
        kind = getattr(setting.type, "__name__", "Literal")
        other = str(not setting.default).lower() if kind == "bool" else samples.get(kind)
        environment[variable(name)] = other or setting.type.__args__[-1]
    for name in ("URL", "CALLBACK_BASE_URL"):
        environment[f"ANABRANCH_AUTH_OIDC_{name}"] = "https://example.com"
    loaded = load(tmp_path, environment=environment)
    assert set(loaded.places) == set(declared())
    for name, setting in declared().items():
        assert value_of(loaded.settings, name) != setting.default


def test_an_empty_variable_is_not_set(tmp_path):
    environment = {"ANABRANCH_WORKERS": "", "ANABRANCH_NO_SUCH": ""}
    assert load(tmp_path, environment=environment).settings.workers == 1


def test_variables_of_others_are_left_alone(tmp_path):
    environment = {
        "ANABRANCH_SERVER": "http://x",
        "ANABRANCH_ACCESS_KEY_ID": "a",
        "ANABRANCH_SECRET_ACCESS_KEY": "b",
        "ANABRANCH_CONFIG_FILE": "c",
        "LAKEFS_DATABASE_TYPE": "postgres",
        "PATH": "/bin",
    }
    assert load(tmp_path, environment=environment).places == {}


LAKEFS_YAML = """
    ---
    listen_address: "0.0.0.0:9000"
    database:
      type: "local"
      local:
        path: ~/lakefs/metadata
        prefetch_size: 256
    Logging:
      format: json
      level: WARN
      output: "-"
    auth:
      encrypt:
        secret_key: "10a718b3f285d89c36e9864494cdd1507f3bc85b342df24736ea81f9a1134bcc"
      oidc:
        validate_id_token_claims: {department: R&D}
    blockstore:
      type: local
      local:
        path: ~/lakefs/data
        import_enabled: true
        allowed_external_prefixes: [/mnt/a, /mnt/b]
    gateways:
      s3:
        domain_name: s3.example.com
        region:
    stats:
      enabled: false
"""


def test_a_file_of_lakefs(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    path = write(tmp_path / "lakefs.yaml", LAKEFS_YAML)
    loaded = load(tmp_path, config=path)
    settings = loaded.settings
    assert str(settings.listen_address) == "0.0.0.0:9000"
    assert settings.database.local.path == Path("/home/ada/lakefs/metadata")
    assert settings.blockstore.local.path == Path("/home/ada/lakefs/data")
    assert settings.blockstore.local.import_enabled
    assert settings.blockstore.local.allowed_external_prefixes == ("/mnt/a", "/mnt/b")
    assert settings.logging.format == "json"
    assert settings.auth.encrypt.secret_key.reveal().startswith("10a718")
    assert settings.auth.oidc.validate_id_token_claims == (("department", "R&D"),)
    assert settings.gateways.s3.domain_name == ("s3.example.com",)
    assert settings.gateways.s3.region == "us-east-1"
    assert loaded.warnings == tuple(
        f"{path}:{name} is a setting of lakeFS that has no effect here"
        for name in (
            "database.local.prefetch_size",
            "logging.output",
            "stats.enabled",
        )
    )


def test_lakefs_settings_elsewhere_are_errors(tmp_path):
    toml = write(tmp_path / "a.toml", "[stats]\nenabled = false")
    words = "is a setting of lakeFS that has no effect here"
    assert refused(tmp_path, config=toml) == f"{toml}:stats.enabled {words}"
    environment = {"ANABRANCH_STATS_ENABLED": "false"}
    yaml = write(tmp_path / "a.yaml", "")
    assert refused(tmp_path, environment=environment, config=yaml) == (
        f"ANABRANCH_STATS_ENABLED {words}"
    )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "INSTALATION_USER_NAME",
            "a",
            "not a setting; did you mean ANABRANCH_INSTALLATION_USER_NAME?",
        ),
        ("DATABASE_PATH", "a", "not a setting; did you mean ANABRANCH_DATABASE_LOCAL_PATH?"),
        ("DOMAIN_NAME", "a", "not a setting; did you mean ANABRANCH_GATEWAYS_S3_DOMAIN_NAME?"),
        ("XYZZY", "a", "not a setting"),
        ("WORKERS", "many", "'many', not a whole number of 0 or more"),
        ("DATABASE_TYPE", "redis", "'redis', not one of local, mem, postgres"),
        (
            "LOGGING_LEVEL",
            "INFOO",
            "not one of TRACE, DEBUG, INFO, WARN, ERROR, NONE; did you mean INFO?",
        ),
        ("AUTH_CACHE_TTL", "20", "'20', not a duration such as 20s, 15m or 1h30m"),
        (
            "INSTALLATION_USER_NAME",
            "a",
            "needs installation.access_key_id and installation.secret_access_key as well",
        ),
    ],
)
def test_what_is_wrong_in_the_environment(tmp_path, variable, value, message):
    said = refused(tmp_path, environment={f"ANABRANCH_{variable}": value})
    assert said.startswith(f"ANABRANCH_{variable} ")
    assert said.endswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[blockstor.local]\npath = '/x'",
            ":blockstor.local.path is not a setting; did you mean blockstore.local.path?",
        ),
        (
            "access_key_id = 'x'",
            ":access_key_id is not a setting; did you mean installation.access_key_id?",
        ),
        ("listen_address = 8000", ":listen_address is not a text: put it in quotes"),
        ("[workers]\ncount = 1", ":workers.count is not a setting; did you mean workers?"),
        (
            "[blockstore]\ntype = 'ftp'",
            ":blockstore.type is 'ftp', not one of local, mem, s3, gs, azure",
        ),
        (
            "workers = 1\nworkers = 2",
            ": is not TOML: Cannot overwrite a value (at end of document)",
        ),
        (
            "workers",
            ": is not TOML: Expected '=' after a key in a key/value pair (at end of document)",
        ),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path, text, message):
    path = write(tmp_path / "a.toml", text)
    assert refused(tmp_path, config=path) == f"{path}{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "is not YAML: "),
        ("- a\n- b", "has no settings by name"),
        ("just words", "has no settings by name"),
        ("database: {type: dynamodb}", "'dynamodb', not one of local, mem"),
        ("databse: {type: local}", "did you mean database.type?"),
        ("a: 2024-99-99", "is not YAML"),
        ("x: !!python/object/apply:os.system [id]", "is not YAML"),
        ("[" * 3000, "is not YAML"),
    ],
)
@pytest.mark.sample(4)
def test_what_is_wrong_in_a_file_of_lakefs(tmp_path, text, message):
    path = write(tmp_path / "a.yml", text)
    said = refused(tmp_path, config=path)
    assert said.startswith(str(path))
    assert message in said


def test_files_that_cannot_be_read(tmp_path):
    assert refused(tmp_path, config=tmp_path / "none.toml").endswith("No such file or directory")
    assert refused(tmp_path, config=tmp_path).endswith("Is a directory")
    (tmp_path / "a.toml").write_bytes(b"\xff")
    assert refused(tmp_path, config=tmp_path / "a.toml").endswith("it is not UTF-8")


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    path = write(tmp_path / "a.toml", "wokers = 2\n[logging]\nlevel = 'LOUD'")
    said = refused(tmp_path, config=path, environment={"ANABRANCH_DATABASE_TYPE": "x"})
    assert len(said.splitlines()) == 3


def test_secrets_are_not_shown(tmp_path):
    environment = {
        "ANABRANCH_INSTALLATION_USER_NAME": "a",
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": "b-key",
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET,
        "ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": SECRET,
        "ANABRANCH_BLOCKSTORE_SIGNING_SECRET_KEY": SECRET,
    }
    loaded = load(tmp_path, environment=environment)
    assert loaded.settings.installation.secret_access_key == Secret(SECRET)
    assert SECRET not in repr(loaded) + str(loaded)
    del environment["ANABRANCH_INSTALLATION_USER_NAME"]
    assert SECRET not in refused(tmp_path, environment=environment | {"ANABRANCH_X": SECRET})


def test_settings_compare_by_what_they_are():
    assert Settings() == Settings()
