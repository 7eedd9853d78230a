"""Small programs that show what ERRATA.md says: ``python -m docs.errata NAME``, or without a name all of them."""
