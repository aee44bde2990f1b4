"""One peer on one set, in the peer's own environment: `python peer_programs.py PEER VOTES OUT`.

VOTES is a .npy file of int8 votes (items x voters, 0 abstained); OUT gets scores, one per item,
positive for +1, and P(+1) where the peer gives probabilities (.npz). Nothing here imports unelisa.
Prints the peer's version and the processor seconds of fitting and answering. They may be LIMIT:
seconds of the clock would depend on what else runs on the machine.
"""

import json
import os
import random
import resource
import sys
import time
import warnings
from contextlib import suppress
from importlib.metadata import version

import numpy as np

SEED = 0
LIMIT = 120
# scipy's and pandas' dealings with old code are not what is measured
warnings.filterwarnings("ignore")


def long_table(votes):
    import pandas as pd  # noqa: PLC0415 - only crowd-kit's environment needs it

    items, voters = np.nonzero(votes)
    labels = np.where(votes[items, voters] > 0, 1, 0)
    return pd.DataFrame({"task": items, "worker": voters, "label": labels})


def spread(answer, n_items, default):
    """Answers of crowd-kit, a Series by task, as an array; items without votes: the default."""
    out = np.full(n_items, float(default))
    out[answer.index.to_numpy()] = answer.to_numpy(dtype=float)
    return out


def crowd_kit_probabilities(name):
    def run(votes):
        from crowdkit import aggregation  # noqa: PLC0415

        model = getattr(aggregation, name)()
        table = model.fit_predict_proba(long_table(votes))
        yes = table[1] if 1 in table.columns else 1 - table[0]
        chances = spread(yes, len(votes), 0.5)
        return chances - 0.5, chances

    return run


def crowd_kit_labels(name):
    def run(votes):
        from crowdkit import aggregation  # noqa: PLC0415

        labels = getattr(aggregation, name)().fit_predict(long_table(votes))
        return spread(labels, len(votes), 0.5) - 0.5, None

    return run


def snorkel_codes(votes):
    return np.where(votes > 0, 1, np.where(votes < 0, 0, -1)).astype(np.int64)


def run_snorkel(votes):
    from snorkel.labeling.model import LabelModel  # noqa: PLC0415

    codes = snorkel_codes(votes)
    model = LabelModel(cardinality=2, verbose=False)
    model.fit(codes, n_epochs=500, seed=SEED, progress_bar=False)
    chances = model.predict_proba(codes)[:, 1]
    return chances - 0.5, chances


def run_flying_squid(votes):
    from flyingsquid.label_model import LabelModel  # noqa: PLC0415

    signs = votes.astype(np.int64)
    model = LabelModel(signs.shape[1])
    model.fit(signs)
    chances = np.nan_to_num(model.predict_proba(signs, verbose=False)[:, 1], nan=0.5)
    return chances - 0.5, chances


def run_hyperlm(votes):
    # its checkpoint was pickled; newer releases of torch want to be told that this is meant
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
    from hyperlm import HyperLabelModel  # noqa: PLC0415

    voted = votes.any(axis=1)  # it gives no answer where nobody voted
    answer = HyperLabelModel(device="cpu").infer(snorkel_codes(votes[voted]), return_probs=True)
    chances = np.full(len(votes), 0.5)
    chances[voted] = np.asarray(answer, dtype=float)[:, 1]
    return chances - 0.5, chances


def run_deem(votes):
    from deem import DEEM  # noqa: PLC0415

    codes = snorkel_codes(votes)
    model = DEEM(n_classes=2, random_state=SEED, device="cpu")
    model.fit(codes, verbose=False)
    labels = np.asarray(model.predict(codes))
    # its probabilities are not aligned with the labels: turn them where they disagree
    chances = np.asarray(model.predict(codes, return_probs=True), dtype=float)[:, 1]
    if np.mean((chances > 0.5) == (labels > 0.5)) < 0.5:
        chances = 1 - chances
    return chances - 0.5, chances


PROGRAMS = {
    "crowd-kit MajorityVote": ("crowd-kit", crowd_kit_probabilities("MajorityVote")),
    "crowd-kit Wawa": ("crowd-kit", crowd_kit_probabilities("Wawa")),
    "crowd-kit DawidSkene": ("crowd-kit", crowd_kit_probabilities("DawidSkene")),
    "crowd-kit OneCoinDawidSkene": ("crowd-kit", crowd_kit_probabilities("OneCoinDawidSkene")),
    "hyperlm": ("hyperlm", run_hyperlm),
    "snorkel LabelModel": ("snorkel", run_snorkel),
    "crowd-kit ZeroBasedSkill": ("crowd-kit", crowd_kit_probabilities("ZeroBasedSkill")),
    "crowd-kit KOS": ("crowd-kit", crowd_kit_labels("KOS")),
    "crowd-kit MACE": ("crowd-kit", crowd_kit_probabilities("MACE")),
    "FlyingSquid": ("flyingsquid", run_flying_squid),
    "crowd-kit MMSR": ("crowd-kit", crowd_kit_labels("MMSR")),
    "crowd-kit GLAD": ("crowd-kit", crowd_kit_probabilities("GLAD")),
    "deem": ("deem", run_deem),
}


def main():
    name, votes_file, out_file = sys.argv[1:]
    distribution, program = PROGRAMS[name]
    votes = np.load(votes_file)
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - the peers draw from it
    with suppress(Exception):  # imports and compiles outside the clock; a peer may refuse toy votes
        program(np.array([[1, 1, -1], [-1, -1, 1], [1, -1, 1], [-1, 1, -1]] * 5, dtype=np.int8))
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(start) + LIMIT, int(start) + LIMIT + 5))
    scores, chances = program(votes)
    seconds = time.process_time() - start
    chances = np.full(len(votes), np.nan) if chances is None else chances
    np.savez(out_file, scores=scores, chances=chances)
    print(json.dumps({"seconds": seconds, "version": version(distribution)}))


if __name__ == "__main__":
    main()
