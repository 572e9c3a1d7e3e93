"""The kinds of job of runs."""
