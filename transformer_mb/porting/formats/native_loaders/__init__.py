"""The frameworks' own readers and writers, run in processes of their own (see ``worker``), never imported elsewhere."""
