"""Benchmarks: each compares Davy with the best alternative, in one run, and prints ratios."""
