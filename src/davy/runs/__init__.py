"""What people start from pages: score a text or file, train, evaluate, check; the jobs and their results."""
