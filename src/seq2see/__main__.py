"""`python -m seq2see` is `seq2see`."""

from seq2see.cli.app import main

main()
