"""Plans of `davy sample`, as YAML."""
