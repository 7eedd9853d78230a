"""The distance of an answer from the reference's, and how large it may be."""
