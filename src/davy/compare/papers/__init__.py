"""The papers' tables beside ours: one module a paper, their figures in `published.yaml`."""
