"""`unelisa reproduce`: opens the studies, which live beside the package in a clone."""

from unelisa.errors import ModelError

try:
    from studies.cli import app
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] != "studies":
        raise
    raise ModelError(
        "unelisa reproduce needs the studies, which are not part of the installed package: "
        "run it from a clone of the repository, after pip install --editable ."
    ) from None

__all__ = ["app"]
