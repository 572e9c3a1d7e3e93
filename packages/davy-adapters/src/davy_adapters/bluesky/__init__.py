"""A labeler for Bluesky: posts scored by a server of Davy become signed labels, and are given to whoever subscribes."""
