"""Accounts, sign-in, roles, API keys, invitations, a person's own data, and how long records are kept."""
