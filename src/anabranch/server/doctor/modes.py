"""Check that the server's folders are private, which those of earlier versions were not."""

from __future__ import annotations

from pathlib import Path

from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State
from anabranch.server.doctor.disk_space import written_folders

__all__ = ["check_modes"]

ABOUT = "folders"
_GROUP_AND_OTHERS = 0o077


def check_modes(settings: Settings) -> list[CheckResult]:
    """Returns a result for each folder that users other than its owner may enter. A private
    folder protects its contents with any mode; if the data folder is private, nothing else is
    checked.
    """
    folders = {name: path.absolute() for name, path in written_folders(settings).items()}
    data = folders.pop("data")
    if _is_open(data):
        folders["keys"] = data / "keys"
    else:
        folders = {name: path for name, path in folders.items() if data not in path.parents}
    return [
        CheckResult(
            ABOUT,
            State.DOUBTFUL,
            f"{name}: other users of this machine may read {path}",
            f"chmod -R go= {path}",
        )
        for name, path in folders.items()
        if _is_open(path)
    ]


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _GROUP_AND_OTHERS)
    except OSError:
        return False  # not there yet
