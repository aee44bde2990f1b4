"""
Thirty thresholds on breast cancer
==================================

The data set that scikit-learn ships: 569 tumours, 30 measurements each. Every measurement votes
"malignant" where it is above its median; no diagnosis is used. Radius, perimeter and area measure
nearly the same, so these voters are far from independent.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import unelisa as ue
from unelisa import plots
from unelisa.study.comparison import compare_methods

cancer = load_breast_cancer()
above = cancer.data > np.median(cancer.data, axis=0)
votes = ue.Votes(
    np.asfortranarray(np.where(above, 1, -1).astype(np.int8)),
    np.arange(len(above)),
    np.array(cancer.feature_names, dtype=object),
    ("benign", "malignant"),
)
truth = np.where(cancer.target == 0, 1, -1).astype(np.int8)

# %%
# Who counts, and who depends on whom.

model = ue.UnElisa(random_state=0).fit(votes)
plots.graph(model, ax=plt.subplots(figsize=(7, 6), layout="constrained")[1])

# %%
# Some methods against the diagnoses. ``model.report("report.html", votes, diagnoses)`` puts the
# same on one page that opens anywhere.

methods = ["unelisa", "majority-vote", "dawid-skene", "spectral-meta-learner"]
rows = list(compare_methods(votes, truth, methods))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plots.comparison(rows, ax=left)
axes = plots.comparison(rows, metric="auc", ax=right)
