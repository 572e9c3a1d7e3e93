"""Plans of `davy split`, as YAML."""
