"""Units of work, one file each: planned, run here or through Ray, run again where they were lost, and never twice."""
