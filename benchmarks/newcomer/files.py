"""Files as other tools and people write them, each with what its owner wants to know.

Every file is drawn from a crowd whose truth is known, so that the answer can be checked. The
layouts follow the tools' public documentation.
"""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Write = Callable[[Path, "Crowd"], list[Path]]
N_ITEMS, N_VOTERS = 120, 9
CASES: dict[str, "Case"] = {}


class Crowd(NamedTuple):
    """Answers of people (items x voters, "" where there is none), and the truth."""

    items: list[str]
    voters: list[str]
    answers: np.ndarray
    truth: list[str]

    def votes(self) -> list[tuple[str, str, str]]:
        """Return (item, voter, answer) of every answer."""
        given = zip(*np.nonzero(self.answers != ""), strict=True)
        return [(self.items[i], self.voters[s], str(self.answers[i, s])) for i, s in given]


class Case(NamedTuple):
    """A file: how it is written, what its owner asks, and the command they type first."""

    question: str
    command: str
    labels: tuple[str, ...]
    write: Write
    rename: Callable[[str], str]
    whole: bool
    knows: str


def case(
    question: str,
    labels: str = "no,yes",
    command: str = "fit",
    rename: Callable[[str], str] = str,
    whole: bool = False,
    knows: str = "",
) -> Callable[[Write], Write]:
    """Register a file under its function's name; `whole` has no missing answers.

    `rename` turns an item of the crowd into the one that the answer names. `knows` is a word of the
    option that its owner takes where the error names several.
    """

    def register(write: Write) -> Write:
        words = tuple(labels.split(","))
        CASES[write.__name__] = Case(question, command, words, write, rename, whole, knows)
        return write

    return register


def draw_crowd(one: Case, seed: int = 0) -> Crowd:
    """Return a crowd of nine, from good to guessing, on 120 items."""
    rng = np.random.default_rng(seed)
    labels = np.array(one.labels)
    truth = rng.integers(0, len(labels), N_ITEMS)
    accuracy = np.linspace(0.92, 0.62, N_VOTERS)
    right = rng.random((N_ITEMS, N_VOTERS)) < accuracy
    if len(labels) == 2:
        wrong = np.broadcast_to(1 - truth[:, None], right.shape)
    else:  # a neighbor on the scale
        steps = rng.choice([-1, 1], right.shape)
        wrong = np.abs(truth[:, None] + steps)
        wrong = np.where(wrong >= len(labels), len(labels) - 2, wrong)
    answers = labels[np.where(right, truth[:, None], wrong)].astype(object)
    if not one.whole:
        answers[rng.random(answers.shape) < 0.35] = ""
    items = [f"img_{i:03d}.jpg" for i in range(N_ITEMS)]
    voters = [f"A{rng.integers(10**9):09d}X" for _ in range(N_VOTERS)]
    return Crowd(items, voters, answers, labels[truth].tolist())


def _table(header: list[str], rows: Any, mark: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=mark).writerows([header, *rows] if header else rows)
    return file.getvalue()


def _text(path: Path, text: str, encoding: str = "utf-8") -> list[Path]:
    path.write_bytes(text.encode(encoding))
    return [path]


@case(
    "Which of my workers can I drop, and what is in each image?",
    rename=lambda item: f"3{int(item[4:7]):05d}HIT",
)
def mturk(folder: Path, crowd: Crowd) -> list[Path]:
    """A batch of Amazon Mechanical Turk, with a comment beside the answer."""
    header = ["HITId", "HITTypeId", "Title", "Reward", "AssignmentId", "WorkerId"]
    header += ["AssignmentStatus", "SubmitTime", "WorkTimeInSeconds", "Input.image_url"]
    header += ["Answer.contains_bird", "Answer.comment"]
    hit = {item: f"3{k:05d}HIT" for k, item in enumerate(crowd.items)}
    rows = [
        [hit[item], "3TYPE", "Is there a bird?", "$0.02", f"3ASSIGN{k}", who, "Approved",
         "Tue Mar 03 10:12:41 PST 2026", 11 + k % 40, item, said, "" if k % 9 else "hard to see"]
        for k, (item, who, said) in enumerate(crowd.votes())
    ]  # fmt: skip
    return _text(folder / "Batch_4711_batch_results.csv", _table(header, rows))


@case("What are the final labels of my pool?", rename=lambda item: f"task-{item}")
def toloka(folder: Path, crowd: Crowd) -> list[Path]:
    """Assignments of a Toloka pool, separated by tabs."""
    header = ["INPUT:image", "OUTPUT:result", "GOLDEN:result", "HINT:text", "ASSIGNMENT:link"]
    header += ["ASSIGNMENT:task_id", "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id"]
    header += ["ASSIGNMENT:status", "ASSIGNMENT:started"]
    rows = [
        [item, said, "", "", f"https://example.org/{k}", f"task-{item}", f"as-{k}", who, "APPROVED",
         "2026-03-03T10:12:41.511"]
        for k, (item, who, said) in enumerate(crowd.votes())
    ]  # fmt: skip
    return _text(folder / "assignments_from_pool_1234.tsv", _table(header, rows, "\t"))


@case("Whom do I not invite again?", "human,machine")
def prolific(folder: Path, crowd: Crowd) -> list[Path]:
    """Answers of Prolific's participants, one row each, with times."""
    header = ["task_id", "PROLIFIC_PID", "answer", "started_at", "seconds"]
    rows = [[*vote, "2026-03-03T10:12:41Z", 7 + k % 30] for k, vote in enumerate(crowd.votes())]
    return _text(folder / "responses.csv", _table(header, rows))


def _task_number(item: str) -> str:
    return str(int(item[4:7]))


@case("Do my annotators agree, and who is right?", "ham,spam", "jury", _task_number)
def label_studio(folder: Path, crowd: Crowd) -> list[Path]:
    """Label Studio's JSON export."""
    tasks = []
    for i, item in enumerate(crowd.items):
        annotations = [
            {"id": 100 * i + s, "completed_by": s + 1, "was_cancelled": False,
             "ground_truth": False,
             "result": [{"from_name": "kind", "to_name": "text", "type": "choices",
                         "value": {"choices": [said]}}]}
            for s, said in enumerate(crowd.answers[i]) if said
        ]  # fmt: skip
        tasks.append(
            {"id": i, "data": {"text": item}, "annotations": annotations, "predictions": []}
        )
    return _text(folder / "project-1-at-2026-03-03.json", json.dumps(tasks))


@case("What is the label of each text?", "ham,spam", rename=_task_number)
def doccano(folder: Path, crowd: Crowd) -> list[Path]:
    """doccano's CSV exports, one per annotator, joined with the annotator as a column."""
    rows = [[_task_number(item), f"text of {item}", said, who] for item, who, said in crowd.votes()]
    return _text(folder / "all.csv", _table(["id", "data", "label", "user"], rows))


@case("Can I trust the labels of this dataset?", "bad,good", "jury")
def argilla(folder: Path, crowd: Crowd) -> list[Path]:
    """Records of an Argilla dataset as `to_json` writes them."""
    records = []
    for i, item in enumerate(crowd.items):
        given = [
            {"value": said, "user_id": who, "status": "submitted"}
            for who, said in zip(crowd.voters, crowd.answers[i], strict=True) if said
        ]  # fmt: skip
        fields = {"text": f"text of {item}"}
        records.append(
            {"id": item, "fields": fields, "metadata": {}, "vectors": {}, "suggestions": {},
             "status": "completed", "responses": {"quality": given}}
        )  # fmt: skip
    return _text(folder / "dataset.json", json.dumps(records))


@case("Label my training set from the label matrix", "0,1", rename=_task_number, knows="snorkel")
def snorkel(folder: Path, crowd: Crowd) -> list[Path]:
    """`pd.DataFrame(L_train, columns=[lf.name for lf in lfs]).to_csv(...)`: -1 abstains."""
    header = ["", *(f"lf_{k}" for k in range(len(crowd.voters)))]
    rows = [[i, *(said or "-1" for said in row)] for i, row in enumerate(crowd.answers)]
    return _text(folder / "L_train.csv", _table(header, rows))


@case("How good is each reader, and what is the consensus?")
def european_excel(folder: Path, crowd: Crowd) -> list[Path]:
    """Saved by a German Excel: semicolons, a byte order mark, minutes with decimal commas."""
    header = ["Bild", "Anna", "Björn", *crowd.voters[2:], "Minuten"]
    rows = [
        [item, *crowd.answers[i], f"{1 + i % 7},{i % 10}5"] for i, item in enumerate(crowd.items)
    ]
    return _text(folder / "auswertung.csv", _table(header, rows, ";"), "utf-8-sig")


@case("What do my colleagues agree on?", "ja,nein")
def latin_1(folder: Path, crowd: Crowd) -> list[Path]:
    """An old program's table in Latin-1; "ja" is the positive label."""
    header = ["Fall", "Käthe", "Jürgen", *crowd.voters[2:]]
    rows = [[item, *crowd.answers[i]] for i, item in enumerate(crowd.items)]
    return _text(folder / "umfrage.csv", _table(header, rows, ";"), "latin-1")


@case("Final codes for our qualitative study?", "a,b,c", whole=True)
def excel(folder: Path, crowd: Crowd) -> list[Path]:
    """A workbook with a sheet of codes."""
    import openpyxl  # noqa: PLC0415 - an extra

    book = openpyxl.Workbook()
    book.active.append(["document", *crowd.voters])
    for i, item in enumerate(crowd.items):
        book.active.append([item, *crowd.answers[i]])
    book.save(folder / "codes.xlsx")
    return [folder / "codes.xlsx"]


@case("Final labels from our own tool's log?")
def json_lines(folder: Path, crowd: Crowd) -> list[Path]:
    """One record per answer."""
    rows = [
        {"item": item, "annotator": who, "label": said, "ts": 1772532761 + k}
        for k, (item, who, said) in enumerate(crowd.votes())
    ]
    return _text(folder / "log.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


@case("Final labels from crowd-kit's old table?")
def header_free(folder: Path, crowd: Crowd) -> list[Path]:
    """Task, worker and label, without a header."""
    return _text(folder / "answers.csv", _table([], crowd.votes()))


@case("What is each film worth, from 1 to 5?", "1,2,3,4,5")
def ratings(folder: Path, crowd: Crowd) -> list[Path]:
    """Stars of nine raters, one column each."""
    rows = [[item, *crowd.answers[i]] for i, item in enumerate(crowd.items)]
    return _text(folder / "stars.csv", _table(["film", *crowd.voters], rows))


def _system(item: str) -> str:
    return f"model-{int(item[4:7]) % 2}"


@case(
    "Which answers are good, and which judges are redundant?",
    "fail,pass",
    "jury",
    lambda item: f"{_system(item)} / {item}",
    whole=True,
)
def llm_judges(folder: Path, crowd: Crowd) -> list[Path]:
    """Verdicts of LLM judges as JSON Lines, with the system that answered."""
    rows = [
        {"item": item, "judge": who, "label": int(said == "pass"), "system": _system(item)}
        for item, who, said in crowd.votes()
    ]
    return _text(folder / "verdicts.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
