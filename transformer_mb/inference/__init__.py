"""A trained model at work on text: translations, continuations, scores of given translations, and how good they are."""
