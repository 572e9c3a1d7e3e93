"""One person labels one post: eligibility, the next item, the form, the answer."""
