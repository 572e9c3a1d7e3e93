"""Run every benchmark, or the ones that are named: `python -m benchmarks [NAME…]`."""

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
    for name in wanted:
        print(f"\n── {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main()
