"""`python -m unelisa`: the same as the command `unelisa`."""

from unelisa.cli import main

main()
