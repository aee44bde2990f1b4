"""MLflow: traces with assessments, and assessments alone; their sources are the judges."""

from collections.abc import Iterable, Iterator

from unelisa.jury.documents import Record, require, take_first, take_object, take_objects
from unelisa.jury.grades import Failed
from unelisa.jury.inspect_logs import digest
from unelisa.jury.verdicts import Check, Entry, Verdict

_NAMES = ("assessment_name", "name")
_SYSTEMS = ("mlflow.modelId", "mlflow.sourceRun")  # in the metadata of a trace


def fits(record: Record) -> bool:
    """Return whether a record is a trace with assessments, or an assessment."""
    return _is_assessment(record) or _find_info(record) is not None


def _is_assessment(record: Record) -> bool:
    return "source" in record and ("feedback" in record or "expectation" in record)


def _find_info(record: Record) -> Record | None:
    info = record.get("info")
    found = info if isinstance(info, dict) else record
    return found if "assessments" in found else None


def read(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the verdicts; what code computed is a check, and an invalid one was replaced."""
    for record in records:
        info = _find_info(record) or record
        listed = [record] if _is_assessment(record) else take_objects(info, "assessments")
        for assessment in listed:
            if assessment.get("valid") is not False and "feedback" in assessment:
                yield _read_feedback(assessment, info, record)


def _read_feedback(assessment: Record, info: Record, trace: Record) -> Entry:
    """Return what one source says; the name of the assessment is what it was asked."""
    source, feedback = take_object(assessment, "source"), take_object(assessment, "feedback")
    name, kind = str(require(assessment, _NAMES)), str(source.get("source_type"))
    value = feedback.get("value")
    if kind == "CODE":
        return Check(name, value)
    failed = feedback.get("error") or assessment.get("error")
    mark = Failed("the scorer failed") if failed else value
    own = require(
        {**info, "trace": assessment.get("trace_id")}, ("trace_id", "request_id", "trace")
    )
    asked = take_first(info, ("request_preview", "request")) or trace.get("request")
    item = own if asked is None else digest(asked)
    system = take_first(take_object(info, "trace_metadata"), _SYSTEMS)
    judge = source.get("source_id") or kind.lower()
    return Verdict(item, judge, mark, system, name, info.get("experiment_id"), own)
