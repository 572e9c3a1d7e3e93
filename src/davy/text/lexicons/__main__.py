"""For maintainers: decode a list, edit it, encode it.

python -m davy.text.lexicons decode NAME > FILE
python -m davy.text.lexicons encode NAME < FILE
"""

import sys
from pathlib import Path

from davy.text.lexicons.read import SHIPPED, decode_line, encode_lexicon, parse_entry


def main(arguments: list[str]) -> int:
    """Decode a shipped lexicon to stdout, or encode stdin over it; return the exit code."""
    if len(arguments) != 2 or arguments[0] not in ("encode", "decode") or arguments[1] not in SHIPPED:
        print(f"usage: python -m davy.text.lexicons encode|decode {'|'.join(SHIPPED)}", file=sys.stderr)
        return 2
    verb, lang = arguments
    path = Path(__file__).with_name(f"{lang}.lexicon")
    if verb == "decode":
        for line in path.read_text("ascii").splitlines():
            if line and not line.startswith("#"):
                print(decode_line(line))
        return 0
    text = sys.stdin.read()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip() and not line.startswith("#"):
                parse_entry(line.rstrip(), lang)
        except ValueError as error:
            print(f"line {number}: {error}", file=sys.stderr)
            return 2
    path.write_text(encode_lexicon(text, lang), "ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
