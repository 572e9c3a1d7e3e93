"""Care for the people who label: consent, rests, check-ins, surveys, pay."""
