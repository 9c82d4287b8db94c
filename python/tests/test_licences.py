"""The wheel carries the licence texts of this package and of everything that is linked into it."""

from importlib.metadata import distribution


def test_the_wheel_has_licence_texts():
    files = {path.name: path for path in distribution("tamis").files or [] if "licenses" in path.parts}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt"} <= files.keys()
    text = files["THIRD-PARTY-LICENSES.txt"].read_text("utf-8")
    for crate in ("arrow-array", "faer", "pyo3", "serde"):
        assert f"\n{crate} " in f"\n{text}", crate


def test_the_wheel_lists_its_components():
    assert any("sboms" in path.parts for path in distribution("tamis").files or [])
