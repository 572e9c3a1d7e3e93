"""Tasks for lm-evaluation-harness: this folder is what `--include_path` takes."""
