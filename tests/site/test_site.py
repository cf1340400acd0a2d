"""The documentation site as readers see it, in a browser."""

import collections
import re
import urllib.parse

import pytest

from tests.site.conftest import DESKTOP, PHONE, ROOT
from tools.site import names, pages, reference, studies

PROMPT, LETTERS = "An exception", 100


def test_every_page_is_there(visits):
    paths = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb")]
    written = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in paths}
    public = {f"{name.page}.html" for name in names.public()}
    measured = {f"{page}.html" for page, _ in studies.made().values()}
    assert len(public) > 100
    assert len(measured) > 25
    assert written | public | measured | {"catalogue.html", "compare/options.html", "readme.html"} <= set(visits)


def test_a_link_to_a_table_is_followed_by_the_table(folder):
    linked = 0
    for path in ROOT.glob("docs/**/*.md"):
        files = [path.parent / target for target in pages.TABLE.findall(path.read_text())]
        linked += len(files)
        page = (folder / path.relative_to(ROOT / "docs").with_suffix(".html")).read_text()
        assert page.count("<tr") >= sum(len(file.read_text().splitlines()) for file in files)
    assert linked > 3


def test_the_list_for_programs_leads_to_pages(folder):
    text = (folder / "llms.txt").read_text()
    listed = re.findall(r"^- \[[^\]]+\]\((\S+)\)", text, re.MULTILINE)
    assert {"guides/first_model.html", "notebooks/cells.html", "api/index.html"} <= set(listed)
    assert [page for page in listed if not (folder / page).is_file()] == []


def test_a_notebook_shows_its_outputs(open_page, address):
    page, problems = open_page()
    page.goto(f"{address}/notebooks/first_model.html")
    pictures = page.locator("article img")
    assert pictures.count() == 2
    assert all(pictures.nth(k).evaluate("image => image.naturalWidth") > 300 for k in range(2))
    assert "on the test part: 9" in page.locator("article").inner_text()
    assert problems == []
    page.context.close()


def test_every_page_of_a_layer_lists_its_weights():
    public = {n.paths[0]: n for n in names.public() if n.page.startswith(("api/cells", "api/layers"))}
    tables = {path: reference.measured(name.value) for path, name in public.items()}
    tables = {path: lines for path, lines in tables.items() if lines}
    assert len(tables) > 40
    assert {path for path, lines in tables.items() if not any(line.startswith("| `") for line in lines)} == set()
    assert len(tables["keras_adaptive_rnn.Mogrifier"]) == len(tables["keras_adaptive_rnn.MogrifierCell"])


def test_no_page_has_an_error(visits):
    assert {path: visit.problems for path, visit in visits.items() if visit.problems} == {}


def test_every_link_leads_somewhere(visits, folder, address):
    broken = collections.defaultdict(list)
    for path, visit in visits.items():
        for link in set(visit.seen["links"]):
            target, _, anchor = link.partition("#")
            if not target.startswith(address):
                continue
            target = urllib.parse.unquote(target.removeprefix(f"{address}/").partition("?")[0]) or "index.html"
            is_there = target in visits or (folder / target).is_file()
            anchors = visits[target].seen["ids"] if target in visits else []
            if not is_there or (anchor and urllib.parse.unquote(anchor) not in [*anchors, ""]):
                broken[path].append(link.removeprefix(address))
    assert broken == {}


def test_all_mathematics_is_rendered(visits):
    equations = {path: visit.seen for path, visit in visits.items() if visit.seen["equations"]}
    assert sum(seen["equations"] for seen in equations.values()) > 500
    assert {p: s for p, s in equations.items() if s["equations"] != s["rendered"] or s["raw"]} == {}


def test_every_page_fits_a_phone(visits):
    assert {p: v.width_on_phone for p, v in visits.items() if v.width_on_phone > PHONE["width"]} == {}


def test_what_is_cut_on_a_phone_shows_that_there_is_more(visits):
    hidden = {path: visit.hidden_on_phone for path, visit in visits.items() if visit.hidden_on_phone}
    assert "api/cells/MogrifierCell.html" in hidden
    assert {p: h for p, h in hidden.items() if not all(has_cue for _, has_cue in h)} == {}


def test_no_table_is_empty(visits):
    assert [path for path, visit in visits.items() if visit.seen["empty"]] == []


def test_a_page_has_one_name(visits, address):
    # Modules have their short names in the sidebar.
    listed = {(link, text) for visit in visits.values() for link, text in visit.seen["sidebar"]}
    names = {(link, text) for link, text in listed if text != "README" and not re.search("/api/(?!index)", link)}
    pages = {f"{address}/{path}": visit.seen["heading"] for path, visit in visits.items()}
    assert len(names) > 30
    assert {(link, text) for link, text in names if "#" not in link and text != pages[link]} == set()


def test_the_first_page_has_a_picture_and_results(open_page, address):
    page, _ = open_page()
    page.goto(f"{address}/index.html")
    assert page.locator("article img").count() == 1
    assert page.eval_on_selector("article img", "image => image.complete && image.naturalWidth > 0")
    assert page.locator("article table").first.locator("tbody tr").count() > 2
    page.context.close()


def test_light_and_dark_can_be_read(visits):
    faint = {p: v.contrasts for p, v in visits.items() if min(v.contrasts.values()) < 7}
    assert faint == {}


def test_search_finds_a_cell(open_page, address):
    page, problems = open_page()
    page.goto(f"{address}/index.html")
    page.fill("input[name=q]", "MogrifierCell")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    first = page.locator("#search-results li a").first.get_attribute("href")
    assert first.split("#")[0].endswith("api/cells/MogrifierCell.html")
    assert problems == []
    page.context.close()


@pytest.fixture(scope="module")
def expected():
    """What the model of the live page writes in Python, on any backend."""
    from keras_adaptive_rnn import hub
    from tools.site import live

    lm = hub.RecurrentCausalLM.from_preset(live.PRESET)
    lm.compile(sampler="greedy")
    return lm.generate(PROMPT, max_length=len(PROMPT) + LETTERS)


def start(page, address, **fields):
    page.goto(f"{address}/live.html")
    page.fill("[name=prompt]", fields.pop("beginning", PROMPT))
    page.fill("[name=letters]", str(fields.pop("letters", LETTERS)))
    for name, value in fields.items():
        page.select_option(f"[name={name}]", value)
    page.click("[type=submit]")


def finish(page):
    page.wait_for_selector("#live[data-state=done], #live[data-state=failed]", timeout=60_000)
    assert page.get_attribute("#live", "data-state") == "done", page.inner_text(".live-status")
    return page.text_content(".live-text")


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_the_browser_writes_what_python_writes(viewport, scheme, open_page, address, expected):
    page, problems = open_page(viewport, scheme)
    start(page, address, choice="greedy", pace="0")
    assert finish(page) == expected
    assert len(expected) == len(PROMPT) + LETTERS
    assert "letters a second" in page.inner_text(".live-status")
    colors = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    assert page.eval_on_selector("#live canvas", colors) > 100
    assert problems == []
    page.context.close()


def test_a_long_beginning_is_read_in_sight_and_stops(open_page, address):
    page, problems = open_page()
    beginning = "An exception is raised by the statement. " * 500
    start(page, address, beginning=beginning)
    page.wait_for_function("document.querySelector('.live-status').textContent.startsWith('Reading the beginning')")
    page.click("[name=stop]")
    page.wait_for_selector("#live[data-state=done]")
    assert re.fullmatch(r"Stopped after reading \d+ of 20500 letters\.", page.inner_text(".live-status"))
    assert page.text_content(".live-text") == beginning
    assert problems == []
    page.context.close()


def test_unknown_letters_are_named(open_page, address):
    page, _ = open_page()
    start(page, address, beginning="Is λ a letter, or ✓?", letters=3)
    finish(page)
    assert page.inner_text(".live-note").endswith(": λ ✓")
    start(page, address, letters=3)
    finish(page)
    assert page.locator(".live-note").is_hidden()
    page.context.close()


def test_the_page_says_how_much_it_loads(open_page, address, folder):
    files = [path for name in ("live", "ort") for path in (folder / "_static" / name).iterdir()]
    model, everything = (folder / "_static/live/model.onnx").stat().st_size, sum(path.stat().st_size for path in files)
    page, _ = open_page()
    page.goto(f"{address}/live.html")
    for text in (page.inner_text(".live-status"), page.inner_text("article")):
        assert f"{model / 1e6:.1f} MB" in text
        assert f"{everything / 1e6:.1f} MB" in text
    page.context.close()


def test_letters_are_drawn_until_stop(open_page, address, expected):
    page, problems = open_page()
    page.add_init_script("Math.random = () => 0.999")
    start(page, address, choice="sample", pace="30", letters=5000)
    page.wait_for_function(f"document.querySelector('.live-text').textContent.length > {len(PROMPT) + 10}")
    page.click("[name=stop]")
    text = finish(page)
    assert text.startswith(PROMPT)
    assert len(PROMPT) + 10 < len(text) < 5000
    assert not expected.startswith(text)
    assert problems == []
    page.context.close()
