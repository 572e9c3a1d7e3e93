"""Run every benchmark, or the ones that are named: `python -m benchmarks [NAME…]`.

One that misses its goal does not stop the others; the exit code is 1 then.
"""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    """Run the benchmarks one after the other."""
    known = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"No benchmark called {unknown[0]!r}. Known: {', '.join(known)}")
    sys.argv = sys.argv[:1]
    missed = []
    for name in wanted:
        print(f"\n── {name}", flush=True)
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except SystemExit as over:
            if over.code:
                missed.append(name)
                print(over.code if isinstance(over.code, str) else f"{name} missed its goal", flush=True)
    if missed:
        sys.exit(1)


main()
