"""Lists of named parts with parameters, as YAML: cleaning recipes here, plans of samplers beside their code."""
