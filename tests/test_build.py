"""The wheel and the sdist: built, installed into an empty environment and used."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import unelisa

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def build(source, target):
    pytest.importorskip("hatchling", reason="building needs hatchling")
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-d",
        target,
        "-t",
        "sdist",
        "-t",
        "wheel",
    ]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("there is no source tree to build")
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory):
    """An environment that holds the wheel and sees the libraries of this one, not its unelisa."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    install = ["-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, *install, built[0]], check=True, capture_output=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    # a path in a .pth file is searched last, and its own .pth files (our checkout) are not read
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return folder


def run(environment, *command, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    program = environment / "bin" / command[0]
    done = subprocess.run(
        [program, *command[1:]], env=clean, capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
    package = {
        f"unelisa/{path.relative_to(ROOT / 'src' / 'unelisa').as_posix()}"
        for path in (ROOT / "src" / "unelisa").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == package
    assert {"unelisa/py.typed", "unelisa/report/vendor/cytoscape.min.js"} <= names


def test_the_installed_command_does_the_whole_job(environment, tmp_path):
    told = run(environment, "python", "-c", "import unelisa; print(unelisa.__file__)", cwd=tmp_path)
    assert Path(told.strip()).is_relative_to(environment)
    assert run(environment, "unelisa", "--version").strip() == f"unelisa {unelisa.__version__}"
    rows = [f"i{i},{'yes,yes,no,no' if i % 3 else 'no,no,yes,yes'}" for i in range(60)]
    (tmp_path / "votes.csv").write_text("\n".join(["item,a,b,c,d", *rows, ""]))
    outputs = ("--out", "labels.csv", "--report", "page.html", "--save", "model.npz")
    method = ("--method", "majority-vote")
    run(environment, "unelisa", "fit", "votes.csv", *method, *outputs, cwd=tmp_path)
    assert all((tmp_path / name).stat().st_size for name in outputs[1::2])


def test_a_wheel_built_from_the_sdist_is_the_same(built, tmp_path):
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    source = next(tmp_path.glob("unelisa-*"))
    for name in ("tests", "studies", "README.md", "LICENSE", "SECURITY.md", "constraints-min.txt"):
        assert (source / name).exists(), name
    again, _ = build(source, tmp_path / "dist")
    with zipfile.ZipFile(built[0]) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_recipe_and_container_agree_with_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'set version = "{unelisa.__version__}"' in recipe
    needed = [re.split("(?=>=)", one) for one in (*project["dependencies"], *extras["report"])]
    named = {"matplotlib": "matplotlib-base"}
    assert [one for one in needed if f"- {named.get(one[0], one[0])} {one[1]}" not in recipe] == []
    container = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in container.splitlines() if line.startswith("COPY")]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert set(re.search(r"\.\[(.*?)\]", container)[1].split(",")) <= set(extras)
    minor = re.search(r"FROM python:(\S+?)-", container)[1]
    assert f"Programming Language :: Python :: {minor}" in project["classifiers"]
