"""Every kind of report in a real browser: whole, safe, usable, readable."""

import csv
import io
import os
import re
import time
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import HOSTILE, PAGES, SHOTS

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 800}


@pytest.mark.parametrize("name", PAGES)
def test_opens_from_a_file_without_errors_or_requests(opened, reports, name):
    one = opened(name, viewport=DESK)
    assert one.complaints == []
    own = reports.page(name).as_uri()
    assert [url for url in one.requests if url != own and not url.startswith("data:")] == []
    assert one.page.locator("h1").count() == 1
    assert one.page.locator("section").count() >= 3
    assert reports.page(name).stat().st_size < 2_000_000


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_phone(opened, name):
    one = opened(name, viewport=PHONE)
    width = one.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide"


@pytest.mark.parametrize("name", PAGES)
def test_rows_of_tables_are_low_on_a_phone(opened, name):
    one = opened(name, viewport=PHONE)
    one.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    tallest = one.page.evaluate(
        "Math.max(0, ...[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height))"
    )
    assert tallest <= 200, f"a row is {tallest} pixels tall"


# Both schemes, for contrast; the phone, for what is cut off or too small to be touched.
LOOKS = [{"color_scheme": "light", "viewport": DESK}, {"color_scheme": "dark", "viewport": DESK}]


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(opened, name, look):
    one = opened(name, **look)
    one.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(one.page, options={"runOnly": {"type": "tag", "values": tags}}).response["violations"]
    told = [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found]
    assert told == []


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_is_told_in_words(opened, name):
    one = opened(name, viewport=DESK)
    silent = one.page.evaluate(
        """[...document.querySelectorAll("svg:not([aria-hidden])")].filter((svg) => svg.getAttribute("role") !== "img"
            || !svg.querySelector(":scope > title")?.textContent || !svg.querySelector(":scope > desc")?.textContent).length"""
    )
    assert silent == 0
    assert one.page.locator("svg[role=img]").count() >= 1


def test_dark_is_dark_and_light_is_light(opened):
    def ground(scheme):
        page = opened("stabilized", color_scheme=scheme).page
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    assert ground("light") > 3 * 200 > 3 * 60 > ground("dark")


def names(page, table="All features"):
    cells = page.locator(f"[aria-label='{table}'] tbody tr:not([hidden]) td:first-child")
    return cells.all_inner_texts()


def test_search_and_sort(opened):
    page = opened("stabilized", viewport=DESK).page
    before = names(page)
    assert len(before) > 5
    page.get_by_label("Search in All features").fill(before[3])
    shown = names(page)
    assert before[3] in shown and len(shown) < len(before)
    assert page.locator(".status").first.inner_text() == f"{len(shown)} of {len(before)}"
    page.get_by_label("Search in All features").fill("")
    assert names(page) == before

    heading = page.locator("[aria-label='All features'] th", has_text="feature").first
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == sorted(before, key=lambda name: int(name))
    heading.locator("button").click()
    assert names(page) == sorted(before, key=lambda name: -int(name))
    effect = page.locator("[aria-label='All features'] th", has_text="effect").first
    effect.locator("button").click()
    assert effect.get_attribute("aria-sort") == "descending"
    sizes = page.evaluate(
        "[...document.querySelectorAll(\"[aria-label='All features'] tbody tr\")].map((row) => Math.abs(row.children[1].dataset.v))"
    )
    assert sizes == sorted(sizes, reverse=True)


def features_of(reports, model):
    """The features of a model as the program lists them, without the intercept."""
    listed = csv.DictReader(io.StringIO(reports.run("inspect", model, "--top", 0, "--csv")))
    return [row for row in listed if row["name"] != "(intercept)"]


def test_tables_are_saved_with_all_digits(opened, reports):
    page = opened("stabilized", viewport=DESK).page
    with page.expect_download() as saved:
        page.get_by_label("Download CSV: All features").click()
    assert saved.value.suggested_filename == "all-features.csv"
    text = Path(saved.value.path()).read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    told = features_of(reports, "zipf.json")
    weights = {row["name"]: float(row["weight"]) * float(row["scale"]) for row in told}
    assert len(rows) == len(weights)
    for row in rows:
        assert float(row["effect"]) == pytest.approx(weights[row["feature"]], rel=1e-12)


def test_what_if_tells_the_truth(opened, reports):
    page = opened("stabilized", viewport=DESK).page
    told = features_of(reports, "zipf.json")
    page.locator("#cutoff").fill("0.9")
    stay = sum(float(row["frequency"]) >= 0.9 for row in told)
    box = page.locator("[data-cut]")
    assert box.locator("output").inner_text().startswith(f"At 90 %: {stay} of {len(told)} features kept")
    assert box.locator("code").inner_text() == "tamis resize zipf.json --frequency 0.9 --out stable.json"
    page.locator("#size").fill("3")
    command = page.locator("[data-sizes] code").inner_text()
    assert command == "tamis resize zipf.json --k 3 --out smaller.json"
    reports.run(*command.split()[1:])
    assert len(features_of(reports, "smaller.json")) == 3


def test_the_keyboard_reaches_everything(opened):
    page = opened("stabilized", viewport=DESK).page
    wanted = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, summary, .scroll')].filter((one) => one.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                """(() => { const all = [...document.querySelectorAll('a[href], button, input, summary, .scroll')];
                return all.indexOf(document.activeElement); })()"""
            )
        )
    assert len(reached - {-1}) == wanted
    field = page.get_by_label("Search in All features")
    field.focus()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "what has the focus is seen"


def visible(text):
    """A text without the characters that change its direction, for which the page shows a dot."""
    return "".join(letter for letter in text if letter not in "·\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_names_do_no_harm(opened):
    one = opened("hostile", viewport=DESK)
    page = one.page
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    for heading in page.locator("th button").all():
        heading.click()
    page.mouse.wheel(0, 4000)
    assert "hacked" not in page.title() and page.title() != "1"
    assert one.complaints == []
    assert page.locator("main script, main img, main bdi > *, main style").count() == 0
    shown = names(page)
    for name in HOSTILE:
        assert any(visible(text).startswith(visible(name[:30]).strip()) for text in shown), name[:60]
    assert "(10000 characters)" in "".join(shown)


def test_saved_tables_hold_no_formulas(opened):
    page = opened("hostile", viewport=DESK).page
    with page.expect_download() as saved:
        page.get_by_label("Download CSV: All features").click()
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text("utf-8-sig"))))
    cells = [cell for row in rows for cell in row]
    assert "'=1+1" in cells, "a name that looks like a formula is marked as text"
    number = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")
    assert [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t") and not number.fullmatch(cell)] == []


def test_only_the_script_of_the_page_runs(browser, reports, tmp_path):
    text = reports.page("hostile").read_text()
    forged = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("<main", forged + "<main", 1))
    assert forged in changed.read_text()
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    page.wait_for_timeout(300)
    assert page.title() != "hacked"
    assert any("Content Security Policy" in text for text in said)
    page.close()


def test_the_page_of_a_large_model_opens_at_once(opened, reports):
    path = reports.page("wide")
    assert path.stat().st_size < 700_000
    started = time.monotonic()
    page = opened("wide", viewport=DESK).page
    assert page.locator("[aria-label='All features'] tbody tr").count() == 1000
    assert time.monotonic() - started < 5
    assert "--top 0 --csv" in page.locator("#features").inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_it_prints(opened, tmp_path, name):
    page = opened(name, viewport=DESK).page
    page.emulate_media(media="print")
    width = page.evaluate("document.documentElement.scrollWidth")
    data = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert data.startswith(b"%PDF") and len(data) > 10_000
    assert width <= 1200
    assert page.locator(".tools").first.is_hidden(), "no buttons on paper"


def test_it_is_whole_without_a_script(opened):
    page = opened("stabilized", viewport=DESK, java_script_enabled=False).page
    assert page.locator("[aria-label='All features'] tbody tr").count() > 5
    assert page.locator(".what-if").first.is_hidden(), "what would do nothing is not shown"


@pytest.mark.skipif(not SHOTS, reason="SHOTS names no folder: no pictures are kept")
@pytest.mark.parametrize("name", PAGES)
def test_pictures_to_look_at(opened, name):
    os.makedirs(SHOTS, exist_ok=True)
    looks = {
        "light": {"viewport": DESK},
        "dark": {"viewport": DESK, "color_scheme": "dark"},
        "phone": {"viewport": PHONE, "device_scale_factor": 2},
    }
    for look, settings in looks.items():
        opened(name, **settings).page.screenshot(path=f"{SHOTS}/{name}-{look}.png", full_page=True)
    opened(name, viewport=DESK).page.pdf(path=f"{SHOTS}/{name}-paper.pdf", format="A4")
