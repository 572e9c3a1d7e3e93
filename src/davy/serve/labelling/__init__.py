"""The labelling page: the questions and their forms, a post as it is shown, and what comes next."""
