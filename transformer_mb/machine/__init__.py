"""This machine's memory, the processor's instructions, and compiled programs that are kept for later."""
