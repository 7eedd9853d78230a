"""Files: regular ones read, and whatever is written, written whole or not at all."""
