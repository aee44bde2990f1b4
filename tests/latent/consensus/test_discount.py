import numpy as np

from latent.worlds import ballots_of, repeating_crowd, sample_of
from unelisa.latent.consensus.affinity import discount_votes
from unelisa.latent.consensus.discount import count_once, fit_discounted
from unelisa.latent.consensus.model import fit_consensus, share_votes, weigh_truth


def test_near_duplicates_are_counted_about_once():
    values, truth = repeating_crowd(1)
    blocks, sample = ballots_of(values), sample_of(values)
    plain = fit_consensus(blocks, share_votes, np.ones(blocks.n_voters))
    model, affinity = fit_discounted(blocks, sample, *count_once(sample))
    weighed = blocks.view(discount_votes, affinity)
    odds = weighed.concatenate(weigh_truth, model.factors)
    right = [
        np.mean((z > 0) == (truth > 0))
        for z in (blocks.concatenate(weigh_truth, plain.factors), odds)
    ]
    assert right[1] > right[0] + 0.1
    (run,) = weighed
    per_voter = np.bincount(run.voters, run.weights) / len(values)
    assert 0.8 < per_voter[:6].sum() < 2.2
    assert per_voter[-6:].min() > 0.8
