"""For maintainers: decode a list, edit it, encode it.

python -m davy.testing.suites decode NAME > FILE
python -m davy.testing.suites encode NAME < FILE
"""

import sys
from pathlib import Path

from davy.text.lexicons.read import decode_line, encode_line

HEADER = """\
# Words that hurt, for Davy's functional tests (README.md says why). Encoded line by line so that nobody meets them by
# browsing. To look or to change:
#   python -m davy.testing.suites decode {name} > FILE     (shows them in clear; keep FILE out of the repository)
#   python -m davy.testing.suites encode {name} < FILE
"""


def main(arguments: list[str]) -> int:
    """Decode a word list to stdout, or encode stdin over it; return the exit code."""
    if len(arguments) != 2 or arguments[0] not in ("encode", "decode"):
        print("usage: python -m davy.testing.suites encode|decode NAME", file=sys.stderr)
        return 2
    verb, name = arguments
    path = Path(__file__).with_name(f"{Path(name).name}.lexicon")
    if verb == "encode":
        lines = [line for line in sys.stdin.read().splitlines() if line.strip() and not line.startswith("#")]
        path.write_text(HEADER.format(name=name) + "".join(encode_line(line) + "\n" for line in lines), "ascii")
        return 0
    if not path.is_file():
        print(f"there is no {path}", file=sys.stderr)
        return 2
    for line in path.read_text("ascii").splitlines():
        if line and not line.startswith("#"):
            print(decode_line(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
