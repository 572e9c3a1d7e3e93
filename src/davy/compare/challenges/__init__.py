"""Challenges: the file that makes one, checks of submissions, who counts on a board, the starting kit."""
