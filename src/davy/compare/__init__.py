"""How good is a detector, and is it better than another? Settled answers and what detectors said in, figures out."""
