"""Files in and out, for every room: tables of posts, packed JSON, YAML with line numbers, whole writes."""
