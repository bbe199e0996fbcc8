"""A backup of a folder with SQLite is restored to PostgreSQL."""

from __future__ import annotations

from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.config.loader import load_settings
from anabranch.server.installation.backups import open_restore
from anabranch.server.installation.verification import open_verification
from anabranch.testing.lake import lake_of


def test_a_backup_is_restored_to_another_database(
    back_up, target, place, tmp_path, postgres_database
):
    manifest = back_up()
    environment = {
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": postgres_database,
    }
    data = tmp_path / "new"
    settings = load_settings({"data": str(data)}, environment, None).settings
    with open_restore(settings, str(place), NO_PROGRESS, alone=False) as restore:
        restored = restore.run(manifest, objects=True)
    assert restored.repositories == manifest.repositories
    with open_verification(settings) as installation:
        report = Verification(installation.stores, sample=None).run(installation.files)
    assert report.findings == []
    with lake_of(data, postgres_database) as lake:
        assert lake.objects.open("sea", "main", "staged").read_bytes() == b"staged"
    with target() as opened:
        assert [each.id for each in opened.backups()] == [manifest.id]
