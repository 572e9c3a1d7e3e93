"""`python -m davy` is `davy`."""

from davy.cli import main

main()
