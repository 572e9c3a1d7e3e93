"""Memes: where they come from and the benchmark that is drawn from harmless parts."""
