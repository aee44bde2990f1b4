"""The graph library that the page carries is the one that was fetched, licence and all."""

import hashlib
from importlib.resources import files

VENDOR = files("unelisa.report").joinpath("vendor")


def test_the_files_are_those_of_the_checksums():
    lines = VENDOR.joinpath("cytoscape.sha256").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256(VENDOR.joinpath(name).read_bytes()).hexdigest() == digest


def test_version_and_licence_stand_beside_it():
    assert VENDOR.joinpath("cytoscape.VERSION").read_text().startswith("3.")
    assert "Permission is hereby granted" in VENDOR.joinpath("cytoscape.LICENSE").read_text("utf-8")


def test_it_can_stand_within_a_page():
    script = VENDOR.joinpath("cytoscape.min.js").read_text("utf-8").lower()
    assert "</script" not in script
    assert "<!--" not in script
    assert "\r" not in script
