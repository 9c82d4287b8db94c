"""Instructions of small runs, counted by Valgrind, against recorded counts: speed is not lost unseen.

Counts do not depend on the load of the machine, and hardly on the machine: Valgrind shows every processor with AVX2 as the same
one. They depend on the compiler and on the build. A run that needs 5 % more than recorded fails; so does one that needs 5 %
less, so that the record follows. `TAMIS_RECORD_INSTRUCTIONS=1` records anew.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import BINARY, ROOT

RECORD = Path(__file__).with_name("instruction_counts.json")
TOLERANCE = 0.05

# Name, arguments. Files are those of `rows`.
RUNS = {
    "read svmlight": "convert rows.svm out.svm",
    "read Vowpal Wabbit": "convert rows.vw out.svm",
    "read CSV": "convert table.csv out.vw --target y",
    "read JSON lines": "convert rows.jsonl out.svm",
    "ftrl": "fit rows.svm --method ftrl --out m.json --quiet",
    "truncated gradient": "fit rows.svm --method truncated-gradient --out m.json --quiet",
    "stabilized": "fit few.svm --k 10 --out m.json --quiet",
    "two-stage": "fit few.svm --method two-stage --k 10 --radius 3 --learning-rate 0.1 --out m.json --quiet",
    "moments": "moments table.csv --target y --out m.moments --quiet",
    "predict": "predict model.json rows.svm",
}


def toolchain():
    """The compiler: counts of another one are not comparable."""
    return subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True).stdout.split()[1]


def missing():
    if platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        return "this processor is not the kind the counts were recorded for"
    for program in ("valgrind", "rustc"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    return None


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(1)
    lines = {name: [] for name in ("rows.svm", "rows.vw", "rows.jsonl")}
    for _ in range(1000):
        columns = np.sort(random.choice(np.arange(1, 5000), 30, replace=False))
        cells = [f"{column}:{value:.4f}" for column, value in zip(columns, random.random(30))]
        label = int(random.random() < 0.5)
        lines["rows.svm"].append(f"{label} {' '.join(cells)}")
        lines["rows.vw"].append(f"{2 * label - 1} | {' '.join(cells)}")
        features = ", ".join(f'"{cell.split(":")[0]}": {cell.split(":")[1]}' for cell in cells)
        lines["rows.jsonl"].append(f'{{"y": {label}, "x": {{{features}}}}}')
    lines["few.svm"] = lines["rows.svm"][:150]
    X = random.standard_normal((500, 30))
    lines["table.csv"] = [",".join(["y", *(f"x{column}" for column in range(30))])]
    lines["table.csv"] += [",".join([f"{row[:3].sum():.3f}", *(f"{value:.4f}" for value in row)]) for row in X]
    for name, text in lines.items():
        (folder / name).write_text("\n".join(text) + "\n")
    call = [BINARY, "fit", "rows.svm", "--method", "ftrl", "--out", "model.json", "--quiet"]
    subprocess.run(call, cwd=folder, check=True, capture_output=True)
    return folder


def instructions(folder, arguments):
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, BINARY, *arguments.split(), "--threads", "1"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.mark.parametrize("name", RUNS)
def test_a_run_needs_the_recorded_instructions(name, rows):
    if reason := missing():
        pytest.skip(f"*** NOT CHECKED: instruction counts, {reason} ***")
    found = instructions(rows, RUNS[name])
    record = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    if os.environ.get("TAMIS_RECORD_INSTRUCTIONS"):
        record["counts"] = {**record.get("counts", {}), name: found}
        RECORD.write_text(json.dumps({**record, "toolchain": toolchain()}, indent=2, ensure_ascii=False) + "\n")
        return
    if record["toolchain"] != toolchain():
        pytest.skip(f"*** NOT CHECKED: instruction counts are of Rust {record['toolchain']} ***")
    change = found / record["counts"][name] - 1
    assert abs(change) <= TOLERANCE, f"{name}: {100 * change:+.1f} % instructions ({found:,}); see the head of this file"
