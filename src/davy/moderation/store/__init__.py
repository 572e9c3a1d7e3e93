"""Tables and queries of moderation."""
