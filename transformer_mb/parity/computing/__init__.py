"""What is asked of a backend and computed: here for the reference, in a worker's process for every backend."""
