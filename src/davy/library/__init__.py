"""The library door: what `import davy` offers, for people who write Python.

Each verb is the shell's, on data in memory. `scoring` loads detectors and scores, `data` reads and prepares posts,
`training` makes detectors, `evaluation` measures them; `frames` knows the kinds of data that a caller may hold. The
work is done by `davy.actions` and the stages.
"""
