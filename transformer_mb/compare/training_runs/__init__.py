"""The same training job on several backends over seeds, and verdicts on the differences that know the seeds' noise."""
