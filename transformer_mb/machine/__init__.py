"""What this machine has and lacks: memory, the processor's instructions, and compiled programs that are kept for later."""
