"""Run a notebook's cells from top to bottom in a folder, and keep what each shows: no Jupyter needed.

`python scripts/run_notebook.py docs/start/from-csv.ipynb --in FOLDER` writes the outputs into the notebook; tests call
`run_cells`. A cell's last expression is shown as Jupyter shows it, as HTML where the value has that.
"""

import argparse
import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def run_cells(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run every code cell in one namespace and return the notebook with its outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _run("".join(cell["source"]), names, count)
    return notebook


def _run(source: str, names: dict[str, Any], count: int) -> list[Cell]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {count}>", "exec"), names)  # noqa: S102 — the notebook is ours
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), names)  # noqa: S307
    outputs: list[Cell] = []
    if printed.getvalue():
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--in", dest="folder", type=Path, required=True, help="The folder that the cells work in.")
    args = parser.parse_args()
    path = args.notebook.resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    args.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(args.folder)
    path.write_text(json.dumps(run_cells(notebook), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
