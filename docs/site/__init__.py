"""Extensions of Sphinx with which `make docs` makes the site, and the check of what it made."""
