"""Whether labels can be relied on, said before anybody uses them."""

from unelisa.aggregators import Aggregator
from unelisa.errors import ExpertsWarning, warn_user


def warn_if_unreliable(model: Aggregator) -> None:
    """Warn where the votes of the fit cannot tell of a truth; older model files do not say."""
    if not getattr(model, "reliable_", True):
        told = f"the labels cannot be relied on: {model.reliability_reason_}"
        warn_user(told, ExpertsWarning)
