"""Rounds: people against the detector. Entries, contrasts, and what a round is closed with."""
