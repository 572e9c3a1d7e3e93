"""Clean posts by a recipe, with the funnel of what each step dropped and changed."""
