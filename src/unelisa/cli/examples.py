"""Example files for the commands of the README: more votes, texts, and logs of LLM judges."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.cli.files import OutputFiles, make_folder
from unelisa.votes import Votes

N_NEW, N_QUESTIONS = 40, 80
JUDGES = {"gpt": 0.92, "claude": 0.9, "llama": 0.8, "qwen": 0.75, "mistral": 0.7}  # accuracies
SYSTEMS = {"assistant-1": 0.6, "assistant-2": 0.75}  # shares of answers that are right


def write_examples(folder: Path, votes: Votes, files: OutputFiles) -> None:
    """Write new.csv, texts.csv and logs/ beside the votes of the demo."""
    files.write_csv(folder / "new.csv", *draw_new(votes))
    texts = ((item, f"The text of item {item}.") for item in votes.items.tolist())
    files.write_csv(folder / "texts.csv", ("item", "text"), texts)
    make_folder(folder / "logs")
    for system in SYSTEMS:
        text = json.dumps(draw_log(system), indent=1)
        files.write_text(folder / "logs" / f"{system}.json", f"{text}\n")


def draw_new(votes: Votes) -> tuple[list[str], list[list[Any]]]:
    """Return the header and rows of votes on further items, half of which are missing."""
    rng = np.random.default_rng(0)
    codes = votes.values[:N_NEW] * np.where(rng.random((N_NEW, votes.n_voters)) < 0.1, -1, 1)
    words = {-1: votes.classes[0], 1: votes.classes[1], 0: None}
    missing = rng.random(codes.shape) < 0.5
    rows = [
        [f"new{i}", *(words[0 if gone else int(code)] for code, gone in zip(*row, strict=True))]
        for i, row in enumerate(zip(codes, missing, strict=True))
    ]
    return ["item", *map(str, votes.voters.tolist())], rows


def draw_log(system: str) -> dict[str, Any]:
    """Return a log in the form of Inspect AI: each judge's score of each answer of a system."""
    rng = np.random.default_rng(sorted(SYSTEMS).index(system))
    samples = []
    for k in range(N_QUESTIONS):
        right = rng.random() < SYSTEMS[system]
        said = {name: right == (rng.random() < share) for name, share in JUDGES.items()}
        scores = {name: {"value": "C" if passed else "I"} for name, passed in said.items()}
        samples.append({"id": f"q{k}", "epoch": 1, "input": f"Question {k}", "scores": scores})
    about = {"eval_id": system, "run_id": system, "task": "demo", "model": system}
    return {"version": 2, "status": "success", "eval": about, "samples": samples}
