"""Challenge files that ship with Davy."""
