"""The version of Davy, where every room can read it: the package itself is the library, a door."""

__version__ = "0.1.0"
