"""The live page of `tamis serve` in a real browser: whole, safe, usable, readable."""

import json
import random
import re
import subprocess
import urllib.request

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conftest import BINARY, HOSTILE, SHOTS

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 800}
NAMES = ["speed", "weight", *HOSTILE]


def lines(count, seed):
    dice = random.Random(seed)
    for _ in range(count):
        row = {name: round(dice.gauss(0, 1), 3) for name in NAMES}
        score = sum((1 if at % 2 else -1) * value for at, value in enumerate(row.values()))
        yield json.dumps({"y": int(score + dice.gauss(0, 1) > 0), "x": row}) + "\n"


class Server:
    def __init__(self, folder, *arguments):
        command = [str(BINARY), "serve", "state.st", "--log", "log", "--listen", "127.0.0.1:0", "--json", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def learn(self, rows, **headers):
        request = urllib.request.Request(self.url + "v1/learn", data="".join(rows).encode(), method="POST")
        request.add_header("Content-Type", "application/x-ndjson")
        for name, value in headers.items():
            request.add_header(name, value)
        return json.load(urllib.request.urlopen(request, timeout=30))


def served(folder, *arguments):
    (folder / "first.jsonl").write_text("".join(lines(600, 1)))
    fit = ["fit", "first.jsonl", "--method", "ftrl", "--passes", "1", "-q", "--checkpoint", "state.st"]
    subprocess.run([str(BINARY), *fit], cwd=folder, check=True, timeout=120)
    return Server(folder, *arguments)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = served(tmp_path_factory.mktemp("live"))
    yield one
    one.process.terminate()
    assert one.process.wait(timeout=30) == 0


@pytest.fixture
def live(browser, server):
    contexts = []

    def opens(**settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.urls = [], []
        page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.urls.append(request.url))
        page.goto(server.url)
        page.wait_for_selector("#feature-rows tr")
        return page

    yield opens
    for context in contexts:
        context.close()


def test_shows_the_model_and_asks_nobody_else(live, server):
    page = live(viewport=DESK)
    assert page.complaints == []
    assert all(url.startswith((server.url, "data:")) for url in page.urls)
    assert page.title() == "serve – tamis", "no name of a feature became a script"
    features = json.load(urllib.request.urlopen(server.url + "v1/features", timeout=30))
    assert page.locator("#feature-rows tr").count() == features["nonzeros"]
    shown = page.locator("#feature-rows bdi").all_text_contents()
    assert set(shown) == {one["name"] for one in features["outputs"][0]["features"]}
    assert page.locator("#rows").text_content() == str(features["rows"])
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/live.png", full_page=True)


def test_follows_what_is_learned(live, server):
    page = live(viewport=DESK)
    before = int(page.locator("#rows").text_content().replace(",", ""))
    assert server.learn(lines(300, 7))["accepted"] == 300
    expect(page.locator("#rows")).to_have_text(re.compile(f"^{before + 300:,}$|^{before + 300}$"))
    assert page.locator("#loss-chart polyline").count() == 2
    assert "Loss: now" in page.locator("#loss-chart").get_attribute("aria-label")
    assert page.complaints == []


def test_scores_a_row_by_keyboard(live):
    page = live(viewport=DESK)
    page.locator("#row").fill('{"x": {"speed": 2, "weight": -1, "other": 1}}')
    page.locator("#row").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Score"
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer table")
    assert "Prediction: " in page.locator("#answer p").text_content()
    assert "without a weight: 1." in page.locator("#answer p").text_content()
    assert page.locator("#answer tr").first.text_content() == "featurevaluecontribution"
    assert "intercept" in page.locator("#answer").text_content()
    page.locator("#row").fill('{"x": oops}')
    page.locator("#try-form button").click()
    expect(page.locator("#answer p")).to_contain_text("JSON")


def test_nothing_is_wider_than_a_phone(live):
    width = live(viewport=PHONE).evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(live, scheme):
    page = live(viewport=DESK, color_scheme=scheme)
    page.locator("#try-form button").click()
    page.wait_for_selector("#answer table")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags}}).response["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found] == []


def test_a_token_is_asked_for(browser, tmp_path):
    (tmp_path / "tokens").write_text("reader-0123456789abcdef score\n")
    one = served(tmp_path, "--token-file", "tokens")
    context = browser.new_context(viewport=DESK)
    try:
        page = context.new_page()
        page.goto(one.url)
        expect(page.locator("#lead")).to_contain_text("send a token")
        page.locator("#token").fill("reader-0123456789abcdef")
        page.keyboard.press("Enter")
        page.wait_for_selector("#feature-rows tr")
    finally:
        context.close()
        one.process.terminate()
        assert one.process.wait(timeout=30) == 0
