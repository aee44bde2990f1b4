from studies.records import make_archive
from studies.replay.page import render_replay


def row(policy, seed, heights):
    curve = [[100 * (k + 1), height, 1 - height] for k, height in enumerate(heights)]
    at_end = {"items": 100, "voters": 5, "whole": [500, 0.9, 0.1]}
    return {"set": "toy", "policy": policy, "seed": seed, "curve": curve, **at_end}


def test_the_page_states_what_is_reached_and_by_how_much():
    rows = [row("random", seed, [0.6, 0.7, 0.8, 0.9]) for seed in range(3)]
    rows += [row("ours", seed, [0.6, 0.9, 0.9, 0.9]) for seed in range(3)]
    page = render_replay(make_archive(replays=rows))
    assert "there are 3 seeds per set" in " ".join(page.split())
    assert "- **ours**: rank 1 of 2" in page
    assert "| accuracy | ours | +0.1000 | 1 of 1 | 0 |" in page
    assert "| log loss (less is better) | ours | -0.1000 | 1 of 1 | 0 |" in page
    assert "| toy | 100 x 5 | .9000 | **.8500** | .7500 |" in page
