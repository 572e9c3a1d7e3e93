"""A project: its settings, people, posts, phases and what waits in each."""
