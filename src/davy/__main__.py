"""`python -m davy` is `davy`."""

from davy.shell import main

main()
