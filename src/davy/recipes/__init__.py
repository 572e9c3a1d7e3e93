"""Lists of named parts with parameters, as YAML: cleaning recipes here, sampling plans in `davy.plans`."""
