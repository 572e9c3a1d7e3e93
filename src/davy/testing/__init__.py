"""Functional tests of detectors: run a suite, measure it cell by cell, compare, report, and hold a gate.

A suite and scorers come in; outcomes, figures with intervals, a page and gate results go out. `run` asks the
detectors, `judge` turns answers into outcomes, `figures` measures them, `fairness` splits them by target, `changes`
compares with an earlier run, `gates` decides, `page` and `files` write.
"""
