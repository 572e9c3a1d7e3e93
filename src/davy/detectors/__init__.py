"""Everything that scores posts: shipped weights, trained folders, baselines, remote services."""
