"""Images: the one safe reader, and how they are shown to people who look at hard ones all day."""
