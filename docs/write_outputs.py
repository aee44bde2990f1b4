"""Write below every program on the pages what it prints now; read the difference before a commit.

python docs/write_outputs.py                 every page with programs
python docs/write_outputs.py tutorial rates  some pages
"""

import os
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from typer.testing import CliRunner  # noqa: E402

from test_pages import FENCE, bluebirds, pages, run_command  # noqa: E402 - found just above
from unelisa.cli import app  # noqa: E402
from unelisa.sources import datasets  # noqa: E402

PUBLISHED = ROOT.parent / "shared" / "data" / "bluebirds"


def refresh(text, name):
    """The text of a page, with what its programs print now."""
    names, out, end, shown = {"__name__": "page"}, [], 0, None
    for match in FENCE.finditer(text):
        between, (language, code) = text[end : match.start()], match.groups()
        if language == "text" and shown is not None and not between.strip():
            code = shown
        shown = None
        if language == "python":
            with redirect_stdout(StringIO()) as printed:
                exec(compile(code, name, "exec"), names)  # noqa: S102 - our own page
            shown = printed.getvalue()
        elif language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                run_command(line)
        out += [between, f"```{language}\n{code}```"]
        end = match.end()
    return "".join([*out, text[end:]])


def main():
    asked = sys.argv[1:]
    crowd = bluebirds(PUBLISHED)
    datasets.fetch_set = {"bluebirds": crowd}.__getitem__
    warnings.simplefilter("ignore")
    for page in pages():
        if asked and page.stem not in asked:
            continue
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            if "demo/votes.csv" in text:
                CliRunner().invoke(app, ["demo", "--out", "demo"])
            page.write_text(refresh(text, page.name), encoding="utf-8")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
