"""Work in processes of their own: two frameworks in one process can crash it."""
