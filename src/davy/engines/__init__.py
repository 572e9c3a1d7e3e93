"""Where the work on many units is done: in this process, or on the nodes of a Ray cluster."""
