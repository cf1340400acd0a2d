"""The report of `keras-rnn-compare` as readers see it, in a browser, on a desktop and on a phone."""

import numpy as np
import pytest

import keras_rnn_compare as krc
from tests.site.conftest import DESKTOP, PHONE

SMALL = {"weights": 300, "minutes": 0.001, "seeds": 2, "trials": 2, "memory": False, "verbose": False}
# What stands, in part, beside the page, and text in pictures that is too small to read, in pixels.
CUT_OFF = """() => [...document.querySelectorAll("td, th, p, li, pre, svg, h2")]
  .map((element) => [element, element.getBoundingClientRect()])
  .filter(([element, box]) => box.width && (box.left < 0 || box.right > innerWidth + 0.5 ||
    (element.scrollWidth > element.clientWidth + 1 && element.matches("pre, td, th"))))
  .map(([element]) => element.outerHTML.slice(0, 80))"""
SCALES = """() => [...document.querySelectorAll("svg")]
  .map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
SCORES = """() => [...document.querySelectorAll(".cells")[0].querySelectorAll("tr.winner td")]
  .filter((cell) => cell.getBoundingClientRect().width).map((cell) => cell.dataset.of)"""


@pytest.fixture(scope="module", params=["forecast", "classes"])
def report(request, tmp_path_factory):
    """The path of a report, and the measure of its scores."""
    folder = tmp_path_factory.mktemp("report")
    if request.param == "forecast":
        path = folder / "sales_of_a_shop.csv"
        sold = np.resize([3.0, 9, 5, 4], 90) + np.random.default_rng(0).normal(size=90)
        path.write_text("year,sold\n" + "".join(f"{1900 + k},{each}\n" for k, each in enumerate(sold)))
        krc.compare(path, target="sold", time="year", horizon=2, cells=["lstm", "gru"], output=folder / "out", **SMALL)
        return folder / "out" / "report.html", "RMSE"
    x = np.random.default_rng(0).normal(size=(120, 4, 2))
    y = np.where(x[:, 0, 0] > 0, "a class with a long name", "another")
    krc.compare(x, y, cells=["lstm", "gru", "mogrifier"], output=folder / "out", **SMALL)
    return folder / "out" / "report.html", "cross entropy"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_cut_off(browser, report, viewport):
    path, measure = report
    context = browser.new_context(viewport=viewport)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("() => document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate(CUT_OFF) == []
    assert page.locator("svg").count() >= 2
    # Matplotlib's letters of 8 to 10 points.
    assert min(page.evaluate(SCALES)) > 0.75
    # Scores come first.
    assert page.evaluate(SCORES)[:3] == ["cell", f"validation {measure}", f"test {measure}"]
    context.close()


def test_a_forecast_has_the_times_of_its_file(browser, report):
    path, measure = report
    if measure != "RMSE":
        return
    times = [line for line in path.read_text().splitlines() if line.strip().startswith("<!-- 19")]
    assert len(times) >= 2
    assert "<!-- year -->" in path.read_text()
