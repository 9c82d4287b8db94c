"""Checks what would be published.

    python3 .ci/packages.py CRATE...          each crate: metadata, and the files that `cargo package` would pack
    python3 .ci/packages.py --sdist FOLDER    the source distribution of the Python package
"""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

NEEDED = ("description", "license", "readme", "keywords", "categories", "documentation")


def check_crates(names: list[str]) -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = {package["name"]: package for package in found["packages"]}
    for name in names:
        package = packages[name]
        missing = [key for key in NEEDED if not package[key]]
        assert not missing, f"{name} lacks {', '.join(missing)}"
        assert package["publish"] is None, f"{name} is not published"
        inside = {one["name"] for one in package["dependencies"] if one.get("path") and one["kind"] != "dev"}
        assert inside <= set(names), f"{name} needs {inside - set(names)}, which is not published"
        versions = [one["req"] for one in package["dependencies"] if one.get("path") and one["kind"] != "dev"]
        assert all(version != "*" for version in versions), f"{name}: a dependency without a version cannot be published"
        listed = subprocess.run(
            ["cargo", "package", "--list", "--allow-dirty", "--locked", "--package", name],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for file in ("Cargo.toml", "README.md"):
            assert file in listed, f"{name}: no {file} in the package"
        assert any(file.startswith("src/") for file in listed), name
        print(f"{name} {package['version']}: {len(listed)} files")
    private = [name for name, package in packages.items() if name not in names and package["publish"] is None]
    assert not private, f"not listed as published, and not marked as private: {private}"


def check_sdist(folder: Path) -> None:
    (path,) = folder.glob("tamis-*.tar.gz")
    with tarfile.open(path) as archive:
        files = [name.split("/", 1)[1] for name in archive.getnames() if "/" in name]
    for needed in ("PKG-INFO", "pyproject.toml", "Cargo.lock", "README.md"):
        assert any(name.endswith(needed) for name in files), f"no {needed}"
    assert any(name.endswith("tamis/__init__.py") for name in files) and any(name.endswith("src/lib.rs") for name in files)
    print(f"{path.name}: {len(files)} files")


if __name__ == "__main__":
    if sys.argv[1] == "--sdist":
        check_sdist(Path(sys.argv[2]))
    else:
        check_crates(sys.argv[1:])
