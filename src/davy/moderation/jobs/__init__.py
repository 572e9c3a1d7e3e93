"""The kinds of job of moderation."""
