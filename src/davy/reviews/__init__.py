"""Projects that review something else than posts: a suite's cases, or what every system misses."""
