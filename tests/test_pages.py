"""The pages of docs/: the path of a newcomer leads from one to the next, and all of them stay short."""

import itertools
import pathlib

import pytest

from tests.backends import in_turns

pytestmark = in_turns

DOCS = pathlib.Path(__file__).parents[1] / "docs"
if not DOCS.exists():
    pytest.skip("the docs are not part of the source distribution", allow_module_level=True)
PATH = [DOCS / "guides" / f"{name}.md" for name in ("install", "first_model", "which_cell", "from_lstm_to_mogrifier")]
PATH.append(DOCS / "guides" / "sharing.md")


def words(pages):
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_each_page_of_the_path_ends_with_a_link_to_the_next():
    for page, following in itertools.pairwise(PATH):
        *_, last = page.read_text(encoding="utf-8").strip().split("\n\n")
        assert last.startswith("**Next:**")
        assert f"]({following.name})" in last


def test_the_first_page_leads_to_the_path():
    (paragraph,) = (p for p in (DOCS / "index.md").read_text("utf-8").split("\n\n") if p.startswith("**New here?**"))
    places = [paragraph.find(f"](guides/{page.name})") for page in PATH]
    assert -1 not in places
    assert places == sorted(places)


def test_the_pages_are_short():
    assert words([DOCS / "index.md", *PATH]) <= 4000
    assert words(DOCS.glob("**/*.md")) <= 32_000
