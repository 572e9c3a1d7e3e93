"""The labelling page's parts: the sheet, its questions, the next step, and what to say when there is no work."""
