"""People label posts in phases, answers are settled, and we know how far they agree."""
