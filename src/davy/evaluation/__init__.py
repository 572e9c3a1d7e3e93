"""How good is a detector, and is it better than another? Settled answers and predictions in, figures out."""
