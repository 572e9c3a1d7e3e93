"""Measuring: agreement between people, the quality and fairness of detectors, and how sure we are of each figure.

`agreement`, `pairwise`, `annotator_subsets` and `verbal_scales` measure people, `agreement_study` puts them together;
`classification`, `ranking`, `multilabel`, `paired_tests`, `fairness`, `groups` and `calibration` measure detectors;
`intervals` says how far any of it may be off. Everything is a plain function of arrays and needs only numpy.
"""
