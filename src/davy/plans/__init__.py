"""Plans as data: how to sample posts for labelling, and how to split them."""
