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

cancer = load_breast_cancer(as_frame=True)
above = cancer.data > cancer.data.median()
said = above.replace({True: "malignant", False: "benign"})
votes = ue.Votes.of(said, coding=("benign", "malignant"))
print(votes)

# %%
# Who counts, and who repeats whom: measurements of the same thing share their weight.

model = ue.LatentIsing(random_state=0).fit(votes)
plots.graph(model, ax=plt.subplots(figsize=(7, 6), layout="constrained")[1])

# %%
# Some methods against the diagnoses. ``model.report("report.html", votes, diagnoses)`` puts the
# same on one page that opens anywhere.

truth = np.where(cancer.target == 0, 1, -1)
methods = ["latent-ising", "unelisa", "majority-vote", "dawid-skene", "spectral-meta-learner"]
rows = list(ue.compare_methods(votes, truth, methods))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plots.comparison(rows, ax=left)
axes = plots.comparison(rows, metric="auc", ax=right)
