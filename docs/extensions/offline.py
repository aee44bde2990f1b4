"""The built site loads nothing from a network: a page that would is an error of the build."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*")
STYLED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^\"')\s]*")


def _check(app: Sphinx, failure: Exception | None) -> None:
    if failure or app.builder.format != "html":
        return
    for ending, pattern in ((".html", LOADED), (".css", STYLED)):
        for path in Path(app.outdir).rglob(f"*{ending}"):
            if found := pattern.search(path.read_text(encoding="utf-8")):
                raise ExtensionError(f"{path.name} loads from a network: {found[0]}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Check every page once the build has finished."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
