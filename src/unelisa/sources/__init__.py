"""Where votes come from: files of votes and of labels, public data sets, fitted classifiers."""

from unelisa.sources.ensembles import votes_from_estimators, votes_from_forest
from unelisa.sources.tables import read_votes

__all__ = ["read_votes", "votes_from_estimators", "votes_from_forest"]
