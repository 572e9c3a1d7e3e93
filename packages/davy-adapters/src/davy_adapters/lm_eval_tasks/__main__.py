"""Print the folder of tasks, for `lm_eval --include_path`."""

from pathlib import Path

print(Path(__file__).parent)
