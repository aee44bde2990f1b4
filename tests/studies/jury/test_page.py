from studies.jury.page import render_jury


def test_the_page_says_what_the_archive_holds(archive):
    page = render_jury(archive)
    assert "on 2 panels of language models" in page
    assert "| two | 2 | 1,200 | 9 | .900 (.250) | .850 | .850 (.500) |" in page
    assert "as accurate as the following or more: majority on 2 of 2 panels." in page
    assert "| mean |  |  |  | .900 (.250) | .850 | .850 (.500) |" in page
    assert "| two | 9 | 5.2 | 1 | 3 | .994 | .900, .899 | yes | – |" in page  # noqa: RUF001
    assert "| more | 9 | 5.2 | 1 | 0 | – | .900 | no | 169 |" in page  # noqa: RUF001
    assert "over 200 draws of 50 random gold labels" in page
    assert "| two | .400 | .950 (.50, .80) | .950 (1.00, 1.00) | .950 (1.00, 1.00) |" in page
    assert "| two | 5.25 | 0.00 | 1.000 | 0.25 | .970 |" in page
