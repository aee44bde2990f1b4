"""
Thirty thresholds on breast cancer
==================================

A data set that ships with scikit-learn: 569 tumors with 30 measurements each. Every measurement
votes "malignant" if it is above its median; no diagnosis is used. Radius, perimeter and area
measure nearly the same thing, so these voters are far from independent.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import unelisa as ue
from unelisa.errors import ReliabilityWarning
from unelisa.report import plots

cancer = load_breast_cancer(as_frame=True)
above = cancer.data > cancer.data.median()
said = above.replace({True: "malignant", False: "benign"})
votes = ue.Votes.of(said, coding=("benign", "malignant"))
print(votes)

# %%
# Medians of measurements are weak and dependent voters. The model says what speaks against its
# labels before anybody compares them with the truth.

with warnings.catch_warnings(action="ignore", category=ReliabilityWarning):
    model = ue.LatentIsing().fit(votes)
print(*model.cautions_, sep="\n")

# %%
# Which voters count, and which repeat each other.

plots.graph(model, ax=plt.subplots(figsize=(7, 6), layout="constrained")[1])

# %%
# Several methods compared with the diagnoses. ``model.report("report.html", votes, diagnoses)``
# puts the same comparison on one page that opens anywhere.

truth = np.where(cancer.target == 0, 1, -1)
methods = ["latent-ising", "unelisa", "majority-vote", "dawid-skene", "spectral-meta-learner"]
rows = list(ue.compare_methods(votes, truth, methods))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plots.comparison(rows, ax=left)
axes = plots.comparison(rows, metric="auc", ax=right)
