"""
What a panel of LLM judges is worth
===================================

Seven judges say whether the answers of four systems to the same 300 questions pass. Which system is
better, whom of the judges can you believe, and are all seven needed? ``unelisa jury`` answers from
the logs. This panel is simulated, so that the answers can be checked; on panels of real judges they
are measured in "Panels of LLM judges", under "Why believe it".
"""

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unelisa as ue

rng = np.random.default_rng(1)
n = 300
rates = {"model-a": 0.9, "model-b": 0.65, "model-c": 0.87, "model-d": 0.4}
accuracy = {"large": 0.9, "medium": 0.85, "other": 0.8, "small": 0.75}
rows = []
for system, rate in rates.items():
    good = rng.random(n) < rate
    says = {judge: good == (rng.random(n) < right) for judge, right in accuracy.items()}
    says["kind"] = good | (rng.random(n) < 0.4)  # passes four of ten bad answers
    says["small, prompt 2"] = says["small"] == (rng.random(n) < 0.97)
    says["guesses"] = rng.random(n) < 0.5
    rows += [
        {"item": f"q{i}", "judge": judge, "label": int(passed), "system": system}
        for judge, verdicts in says.items()
        for i, passed in enumerate(verdicts)
    ]
panel = pd.DataFrame(rows)

# %%
# The command reads logs of many programs; records with an item, a judge and a label will do.

folder = Path(tempfile.mkdtemp())
panel.to_csv(folder / "panel.csv", index=False)
command = [sys.executable, "-m", "unelisa", "jury", "panel.csv", "--json", "jury.json"]
print(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)  # noqa: S603

# %%
# Counting votes would pass what lenient judges pass. The corrected rates are near the true ones,
# and the differences that hold are true. The intervals of the rates are wide because the votes
# alone cannot tell a lenient panel from good systems; that is the same for all systems, so that
# differences are known better.

found = json.loads((folder / "jury.json").read_text())
systems = pd.DataFrame(found["pass_rate"]["systems"]).set_index("system")
counted = panel.groupby("system")["label"].mean()
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
place = np.arange(len(systems))[::-1]
axes.hlines(place, systems["low"], systems["high"], color="tab:blue", alpha=0.4, linewidth=6)
axes.plot(systems["share"], place, "o", color="tab:blue", label="corrected")
axes.plot(counted[systems.index], place, "s", color="gray", label="share of passes")
axes.plot([rates[name] for name in systems.index], place, "kx", label="true")
axes.set_yticks(place, systems.index)
axes.set_xlabel("pass rate")
axes.legend(loc="upper left")

# %%
# A judge that was logged three times changes nothing: copies count as one, and the fit says so. It
# also says which judges repeat each other more than they should.

jury = ue.read_jury(panel)
copies = [panel[panel["judge"] == "kind"].assign(judge=f"kind, run {k}") for k in (2, 3)]
more = ue.read_jury(pd.concat([panel, *copies]))
with warnings.catch_warnings(record=True, action="always") as caught:
    model = ue.LatentIsing().fit(jury)
    again = ue.LatentIsing().fit(more)
print(*(warning.message for warning in caught))
print(f"{jury.n_voters} judges worth {model.effective_voters_:.1f}")
print(f"{more.n_voters} judges worth {again.effective_voters_:.1f}")
print(f"{np.mean(again.predict(more) == model.predict(jury)):.1%} of the labels stay")
