"""Reports made by the program, and a browser to open them in."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TAMIS_BIN") or ROOT / "target/release/tamis")
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = os.environ.get("SHOTS")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What features may be called, and must do no harm.
HOSTILE = [
    "<script>document.title='hacked'</script>",
    "</script><script>document.title='hacked'</script>",
    "\"><img src=x onerror=\"document.title='hacked'\">",
    "' onmouseover='document.title=1",
    "</title></style><b>",
    "javascript:alert(1)",
    "&lt;already&gt; &amp; 'quoted' \"twice\"",
    "=1+1",
    "emoji 🧀👩‍👩‍👧‍👦 ÿ é",
    "right‮to‬left",
    "a" * 10_000,
    "{}",
    "*strong* [stability] `code`",
]


def pytest_sessionstart(session):
    if os.environ.get("TAMIS_BIN") and not BINARY.is_file():
        pytest.exit(f"TAMIS_BIN={BINARY} is not a file", returncode=2)


def pytest_collection_modifyitems(items):
    missing = [what for what, there in [("program", BINARY.is_file()), ("Chromium", BROWSER)] if not there]
    if missing:
        reason = f"there is no {' and no '.join(missing)}"
        print(f"\n*** ALL SKIPPED: {reason}. `make browser-tests` as root installs the browser. ***")
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


class Reports:
    """Runs the program in a folder of its own; every page is made once."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def run(self, *arguments):
        command = [str(BINARY), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return done.stdout

    def page(self, name):
        if name not in self.made:
            self.made[name] = getattr(self, name)()
        return self.folder / self.made[name]

    def stabilized(self):
        """Two classes, a size path, and other data to evaluate on."""
        self.run("synth", "zipf", "-o", "zipf", "--n", 4000, "--p", 3000, "--k", 20, "--test-rows", 1000)
        self.run("fit", "zipf.svm", "--out", "zipf.json", "--validate", "zipf.test.svm", "--report", "zipf.html")
        return "zipf.html"

    def stream(self):
        self.page("stabilized")
        self.run("fit", "zipf.svm", "--method", "ftrl", "--passes", 1, "--out", "ftrl.json", "--report", "ftrl.html")
        return "ftrl.html"

    def solved(self):
        self.run("synth", "correlated", "-o", "numbers", "--n", 2000, "--p", 80, "--k", 8)
        self.run("moments", "numbers.svm", "--folds", 5, "-o", "numbers.moments")
        arguments = ["--method", "lasso", "--criterion", "cv", "--path", "--out", "lasso.json", "--report", "lasso.html"]
        self.run("solve", "numbers.moments", *arguments)
        return "lasso.html"

    def moments(self):
        self.page("solved")
        self.run("report", "numbers.moments", "-o", "moments.html")
        return "moments.html"

    def drift(self):
        names = []
        for day in range(4):
            self.run("synth", "correlated", "-o", f"day{day}", "--n", 400, "--p", 40, "--k", 4, "--seed", day)
            self.run("moments", f"day{day}.svm", "-o", f"day{day}.moments")
            names.append(f"day{day}.moments")
        self.run("report", *names, "-o", "drift.html")
        return "drift.html"

    def stability(self):
        self.page("stabilized")
        arguments = ["--method", "truncated-gradient", "--runs", 6, "--report", "runs.html", "--quiet"]
        self.run("stability", "zipf.svm", *arguments)
        return "runs.html"

    def classes(self):
        """Images of 6 by 6 pixels in four classes: a bright corner each."""
        dice = random.Random(7)
        with open(self.folder / "images.svm", "w") as file:
            for row in range(1200):
                label = row % 4
                lit = [6 * y + x for y in range(6) for x in range(6) if (x > 2, y > 2) == (label % 2 == 1, label > 1)]
                dots = {at: 1 + dice.random() for at in lit if dice.random() < 0.7}
                dots.update({at: dice.random() for at in range(36) if dice.random() < 0.2})
                file.write(f"{label} " + " ".join(f"{at + 1}:{value:.3f}" for at, value in sorted(dots.items())) + "\n")
        self.run("fit", "images.svm", "--task", "multiclass", "--out", "images.json")
        self.run("report", "images.json", "--image-width", 6, "--data", "images.svm", "-o", "images.html")
        return "images.html"

    def hostile(self):
        dice = random.Random(1)
        with open(self.folder / "hostile.jsonl", "w") as file:
            for _ in range(600):
                row = {name: round(dice.gauss(0, 1), 3) for name in HOSTILE}
                score = sum((1 if at % 2 else -1) * value for at, value in enumerate(row.values()))
                label = "<script>yes</script>" if score + dice.gauss(0, 1) > 0 else "no & \"no\""
                file.write(json.dumps({"y": label, "x": row}) + "\n")
        os.rename(self.folder / "hostile.jsonl", self.folder / "<b>'hostile'.jsonl")
        arguments = ["--out", "hostile.json", "--validate", "<b>'hostile'.jsonl", "--report", "hostile.html"]
        self.run("fit", "<b>'hostile'.jsonl", *arguments)
        return "hostile.html"

    def wide(self):
        """A model of a hundred thousand weights: what a stream of a million features leaves with hardly any penalty."""
        dice = random.Random(3)
        with open(self.folder / "wide.svm", "w") as file:
            for row in range(3000):
                ids = sorted({dice.randrange(1, 1_000_000) for _ in range(60)})
                file.write(f"{row % 2} " + " ".join(f"{at}:1" for at in ids) + "\n")
        arguments = ["--method", "sgd", "--passes", 1, "--out", "wide.json", "--report", "wide.html", "--quiet"]
        self.run("fit", "wide.svm", *arguments)
        return "wide.html"


PAGES = ["stabilized", "stream", "solved", "moments", "drift", "stability", "classes", "hostile", "wide"]


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    return Reports(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page in the browser, and all that went wrong on it."""

    def __init__(self, browser, path, **settings):
        self.context = browser.new_context(accept_downloads=True, **settings)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture
def opened(browser, reports):
    """Opens a report by its name."""
    pages = []

    def opens(name, **settings):
        pages.append(Opened(browser, reports.page(name), **settings))
        return pages[-1]

    yield opens
    for one in pages:
        one.context.close()
