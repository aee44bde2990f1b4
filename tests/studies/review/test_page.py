from studies.records import make_archive
from studies.review.page import render_review, sum_up

ROWS = [
    {"set": "one", "classes": 2, "items": 1000, "labels": 200, "review": [0.8, 0.9, 0.95],
     "gain": [0.8, 0.85, 0.9],
     "random": [[0.8, 0.85, 0.9]]},
    {"set": "two", "classes": 3, "items": 50, "labels": 20, "review": [0.9, 0.9, 0.9],
     "gain": [0.9, 0.9, 0.9],
     "random": [[0.9, 0.9, 0.9]]},
]  # fmt: skip


def test_the_page_says_what_the_archive_holds():
    page = render_review(make_archive(reviews=ROWS))
    assert "on 2 sets of\nvotes" in page
    assert "| one | 2 | 200 | .800 | .900 | 10 | 20 | 20 |" in page
    assert "| two | 3 | 20 | .900 | .900 | 0 | 0 | 0 |" in page


def test_the_summary_compares_means():
    told = sum_up(ROWS)
    assert "needs 5 answers in the mean over the sets, a random order 10: .50 of them" in told
    assert "By gain alone it is 10, 1.00" in told
    assert "Of the 1 sets on which any are needed, the review needs fewer" in told
