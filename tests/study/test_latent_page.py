from unelisa.study.cells import CELLS, Trial
from unelisa.study.latent_page import show_latent
from unelisa.study.tables import tabulate_study
from unelisa.study.trial import FIRST_TRIALS


def study(make_record, accuracies, hits=(1.0, 1.0)):
    """Two trials of one cell: LatentIsing's accuracies and hit rates beside .9 of all others."""
    results = {}
    for number, (accuracy, hit) in enumerate(zip(accuracies, hits, strict=True)):
        trial = Trial(CELLS[0], number, "mixed")
        record = make_record(trial)
        record["scores"]["latent-ising"] = {
            "accuracy": accuracy,
            "hit_rate": hit,
            "precision": 1.0,
        }
        record["seconds"]["latent-ising"] = 1.5
        results[trial] = record
    return tabulate_study(results, "mixed", "half")


def test_differences_are_up_to_sign_on_the_same_trials(make_record):
    page = show_latent(study(make_record, (0.06, 0.9)))
    assert "| high 25/4 | 1.000 | 1.000 | .480 | .920 | +0.020 ±.020 | +0.020 ±.020 |" in page
    assert "took 1.5 s" in page


def test_cells_are_counted_by_what_they_reach(make_record):
    far = show_latent(study(make_record, (0.89, 0.89), hits=(0.9, 0.98)))
    assert "within .005 of the oracle in 0 of 1 cells and within .03 in 1 of 1" in far
    assert "at least .95 in 0 of 1; more than .005 below unElisa-Bayes in 1 of 1" in far


def test_trials_beyond_the_first_ones_do_not_count(make_record):
    done = study(make_record, (0.9, 0.9))
    late = Trial(CELLS[0], FIRST_TRIALS["latent-ising"], "mixed")
    results = {late: make_record(late, methods=("oracle", "unelisa-bayes"))}
    assert show_latent(tabulate_study(results, "mixed", "half")) == ""
    assert done["cells"][0]["up_to_sign"]["latent-ising"]["trials"] == 2
