"""What the package says on PyPI: README.md with links that lead to the repository, and the addresses of the project.

The release workflow names the repository in `PROJECT_URL`, such as https://github.com/OWNER/NAME. A build elsewhere
knows no address: its links stay as they are, and it has no URLs.
"""

import os
import pathlib
import posixpath
import re

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s#]+)")


class Metadata(MetadataHookInterface):
    def update(self, metadata):
        text, url = (pathlib.Path(self.root) / "README.md").read_text(encoding="utf-8"), os.environ.get("PROJECT_URL")
        if url:
            url = url.rstrip("/")
            text = absolute(text, url, f"v{metadata['version']}")
            metadata["urls"] = {
                "Repository": url,
                "Issues": f"{url}/issues",
                "Changelog": f"{url}/blob/main/CHANGELOG.md",
                "Results": f"{url}/blob/main/docs/results.md",
            }
        else:
            metadata["urls"] = {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text, url, tag):
    """Returns Markdown whose relative links and images are those of the repository at a tag."""

    def replace(match):
        opening, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        kind = "raw" if opening.startswith("!") else "blob"
        return f"{opening}{url}/{kind}/{tag}/{posixpath.normpath(target)}"

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if k % 2 else LINK.sub(replace, part) for k, part in enumerate(parts))
