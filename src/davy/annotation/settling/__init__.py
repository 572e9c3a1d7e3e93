"""From answers to verdicts: rules, experts, discussion, agreement."""
