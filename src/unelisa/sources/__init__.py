"""Where votes come from: files of votes and of labels, public data sets, fitted classifiers."""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

if TYPE_CHECKING:
    from unelisa.sources.ensembles import votes_from_estimators, votes_from_forest
    from unelisa.sources.tables import read_votes

__getattr__, __dir__ = open_door(
    __name__, {"ensembles": "votes_from_estimators votes_from_forest", "tables": "read_votes"}
)

__all__ = ["read_votes", "votes_from_estimators", "votes_from_forest"]
