"""How far an answer is from the reference's, and how far it may be."""
