"""A wheel installs and works on each Python that it is for, and `make dist` builds what does so on
other processors. `tools/pythons` gets the interpreters for `make test-all`.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import zipfile

import pytest
from support.checkout import ROOT
from support.services.installed_wheel import write_wheel

sys.path.insert(0, str(ROOT / "tools"))

from distribution.contents import problems_of_wheel
from distribution.interpreters import VERSIONS, emulated_aarch64, interpreter, wheel_for
from distribution.smoke_test import smoke_test

MACHINES = {"x86_64": 62, "aarch64": 183}


@pytest.fixture(autouse=True)
def _in_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_wheel_installs_and_works_on_each_python(version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"tools/pythons found no Python {version}")
    printed = subprocess.check_output([python, "-c", "import sys; print(sys.version)"], text=True)
    assert printed.startswith(f"{version}.")
    smoke_test(write_wheel(tmp_path), python)


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_make_dist_builds_what_installs_without_compiler():
    made = subprocess.run(["make", "dist"], check=True, stdout=subprocess.PIPE, text=True)
    for version in VERSIONS:
        assert (f"python{version}: " in made.stdout) == (interpreter(version) is not None)
    assert wheel_for(platform.machine(), ROOT / "dist") is not None
    other = wheel_for("aarch64", ROOT / "dist")
    if other is None:
        pytest.skip("no wheel for aarch64: rustup target add aarch64-unknown-linux-gnu")
    if emulated_aarch64() is None:
        pytest.skip("tools/pythons found no emulator of aarch64")
    assert "aarch64: tried under emulation" in made.stdout


@pytest.mark.parametrize("machine", MACHINES)
def test_kernels_of_another_processor_are_seen(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("distribution.contents.source_folders", set)
    wheel = tmp_path / f"anabranch-1.0-cp311-abi3-manylinux_2_17_{machine}.whl"
    for found, number in MACHINES.items():
        header = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + number.to_bytes(2, "little")
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("anabranch/_kernel.abi3.so", header)
        seen = [each for each in problems_of_wheel(wheel) if "is not for" in each]
        said = f"{wheel.name}: anabranch/_kernel.abi3.so is not for {machine}"
        assert seen == ([] if found == machine else [said])
