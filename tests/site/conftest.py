"""Builds the site, serves it, and opens every page of it in Chromium once."""

import dataclasses
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# What the tests want to know of a page, read in the page.
READ = """() => ({
  ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
  links: [...document.querySelectorAll("a[href]")].map((link) => link.href),
  equations: document.querySelectorAll(".math").length,
  rendered: document.querySelectorAll(".math .katex").length,
  raw: document.querySelectorAll(".katex-error").length,
  title: document.title,
  heading: (document.querySelector("article h1")?.firstChild.textContent ?? "").trim(),
  sidebar: [...document.querySelectorAll(".sidebar-tree a.reference")].map((a) => [a.href, a.textContent.trim()]),
  empty: [...document.querySelectorAll("article table")].filter((table) => !table.querySelector("td")).length,
})"""
WIDTH = "() => document.documentElement.scrollWidth"
# What a reader must scroll sideways to see, by the cue that its background gives.
HIDDEN = """() => [...document.querySelectorAll("article *")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
  .map((element) => [element, getComputedStyle(element)])
  .filter(([element, style]) => style.overflowX !== "visible" && !element.matches("textarea, canvas, .katex-mathml"))
  .map(([element, style]) => [element.className || element.tagName, style.backgroundImage.includes("gradient")])"""
# The contrast of text, as the Web Content Accessibility Guidelines define it.
CONTRAST = """() => {
  const luminance = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255);
    const [r, g, b] = parts.map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(document.body);
  const both = [luminance(style.color), luminance(style.backgroundColor)].sort((a, b) => b - a);
  return (both[0] + 0.05) / (both[1] + 0.05);
}"""


@dataclasses.dataclass
class Visit:
    """What was seen of a page: what `READ` returns, what went wrong, and how it looks elsewhere."""

    seen: dict
    problems: list
    width_on_phone: int
    hidden_on_phone: list
    contrasts: dict


@pytest.fixture(scope="session")
def folder():
    """The folder of the site, built for these tests, or the one that `KAR_SITE` names."""
    if "KAR_SITE" in os.environ:
        return pathlib.Path(os.environ["KAR_SITE"])
    built = subprocess.run([sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stdout + built.stderr
    return ROOT / "build" / "docs"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def address(folder):
    """The address of the site, served on this machine."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    named = os.environ.get("CHROMIUM")
    found = [path for path in [named, *map(shutil.which, BROWSERS)] if path]
    assert found, "These tests need Chromium: apt-get install chromium, or set CHROMIUM to its path."
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found[0], args=sandbox)
        yield started
        started.close()


@pytest.fixture(scope="session")
def open_page(browser, address):
    """Returns a function that opens a new tab, and collects its problems: errors, and requests that fail or leave."""

    def open_page(viewport=DESKTOP, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        page, problems = context.new_page(), []

        def request(route):
            if route.request.url.startswith((address, "blob:", "data:")):
                route.continue_()
            else:
                problems.append(f"asks another host: {route.request.url}")
                route.abort()

        context.route(lambda url: not url.startswith(address), request)
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Chromium gives up what is still on its way when the next page is opened, such as the icon.
        page.on("requestfailed", lambda r: None if "ABORTED" in r.failure else problems.append(f"failed: {r.url}"))
        page.on("response", lambda r: problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        return page, problems

    return open_page


@pytest.fixture(scope="session")
def visits(folder, address, open_page):
    """Opens every page once, and returns a `Visit` by its path."""
    page, problems = open_page()
    found = {}
    for path in sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html")):
        problems.clear()
        page.goto(f"{address}/{path}")
        seen, contrasts = page.evaluate(READ), {"light": page.evaluate(CONTRAST)}
        page.emulate_media(color_scheme="dark")
        contrasts["dark"] = page.evaluate(CONTRAST)
        page.set_viewport_size(PHONE)
        width, hidden = page.evaluate(WIDTH), page.evaluate(HIDDEN)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESKTOP)
        found[path] = Visit(seen, list(problems), width, hidden, contrasts)
    page.context.close()
    return found
