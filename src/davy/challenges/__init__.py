"""Challenges: hidden labels, phases, teams, submissions, boards."""
