"""Builds what would be published, from the archives alone: python3 .ci/package_build.py PYTHON CRATE...

The crates are packed and unpacked into a workspace of their own, where each takes the others from their archives, as it
would from the registry. The program built there learns a small stream. The source distribution of the Python package,
in target/package, is installed into a new virtual environment, where an estimator is fitted.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "target/package"
UNPACKED = PACKAGES / "unpacked"
# One profile for both, so that dependencies are compiled once.
PROFILE = "\n[profile.dev]\ndebug = 0\n"
ENVIRONMENT = {**os.environ, "CARGO_TARGET_DIR": str(PACKAGES / "build"), "CARGO_PROFILE_DEV_DEBUG": "0"}

FIT = """
import numpy, tamis
random = numpy.random.default_rng(0)
X = random.normal(size=(400, 30))
model = tamis.StabilizedClassifier(2).fit(X, X[:, 4] + X[:, 9] > 0)
assert list(model.get_support(indices=True)) == [4, 9], model.get_support(indices=True)
print("tamis", tamis.__version__, "from", tamis.__file__)
"""


def run(*command, **options) -> str:
    print("+", *command, flush=True)
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def packed(names: list[str]) -> list[Path]:
    """The unpacked archives of the crates."""
    selected = [word for name in names for word in ("--package", name)]
    run("cargo", "package", "--no-verify", "--allow-dirty", "--locked", *selected, cwd=ROOT)
    shutil.rmtree(UNPACKED, ignore_errors=True)
    folders = []
    for name in names:
        (archive,) = (path for path in PACKAGES.glob(f"{name}-*.crate") if path.name.removeprefix(f"{name}-")[0].isdigit())
        with tarfile.open(archive) as file:
            file.extractall(UNPACKED, filter="data")
        folders.append(UNPACKED / archive.stem)
    return folders


def build_crates(names: list[str]) -> Path:
    folders = packed(names)
    patches = "".join(f"{name} = {{ path = {json.dumps(str(folder))} }}\n" for name, folder in zip(names, folders))
    members = json.dumps([folder.name for folder in folders])
    text = f'[workspace]\nresolver = "3"\nmembers = {members}\n\n[patch.crates-io]\n{patches}{PROFILE}'
    (UNPACKED / "Cargo.toml").write_text(text, "utf-8")
    shutil.copy(ROOT / "Cargo.lock", UNPACKED / "Cargo.lock")
    run("cargo", "build", "--workspace", cwd=UNPACKED, env=ENVIRONMENT)
    return PACKAGES / "build/debug/tamis"


def try_program(program: Path) -> None:
    folder = PACKAGES / "tried"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    print(run(program, "--version").splitlines()[0])
    rows = "".join(f"{1 if place % 3 else -1} {1 + place % 3}:1 {4 + place % 7}:1\n" for place in range(600))
    (folder / "rows.svm").write_text(rows)
    run(program, "fit", "rows.svm", "--out", "model.json", "--quiet", cwd=folder)
    told = json.loads(run(program, "inspect", "model.json", "--json", cwd=folder))
    assert "1" in {feature["name"] for feature in told["features"]}, told
    assert run(program, "predict", "model.json", "rows.svm", "--quiet", cwd=folder).split()[:3] == ["-1", "1", "1"]


def try_python(python: str) -> None:
    (archive,) = PACKAGES.glob("tamis-*.tar.gz")
    folder = PACKAGES / "venv"
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run(*pip, "install", "--config-settings", "build-args=--profile dev", archive, cwd=folder, env=ENVIRONMENT)
    print(run(folder / "bin/python", "-c", FIT, cwd=folder).strip())


if __name__ == "__main__":
    try_program(build_crates(sys.argv[2:]))
    try_python(sys.argv[1])
    print("every package was built from its archive")
