"""How tokens are searched for: what a search starts from, greedily, by beam, by drawing, and the penalties of hypotheses."""
