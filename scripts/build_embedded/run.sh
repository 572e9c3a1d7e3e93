#!/usr/bin/env bash
# The German detector's whole life on one machine with a GPU: from the corpora to a model folder with its card.
#     DATA=corpora USE=DIR WORDS=large_de.msgpack.gz QWEN=FILE.gguf OUT=DIR ./run.sh
# README.md says what these are. A step that is done is not done again. English has six steps there, run one by one.
set -euo pipefail
cd "$(dirname "$0")"
: "${DATA:?the folder of corpora}" "${USE:?the unpacked package}" "${WORDS:?the list of German words}"
: "${QWEN:?the language model}" "${OUT:?where everything goes}"
export PYTHONPATH=../../src
shipped=../../src/davy/models/weights
prepared=$OUT/prepared nets=$OUT/nets built=$OUT/built
mkdir -p "$nets"

[ -e "$prepared/gahd.txt" ] || python german.py --data "$DATA" --use "$USE" --words "$WORDS" --qwen "$QWEN" \
    --english "$shipped/embedded-en" --out "$prepared"
KEEP=$prepared ./german.sh
for label in 0 1 all; do cat "$prepared/parts/every-$label".npz.* >"$nets/every-$label.npz"; done
python german_finish.py --name every --nets "$nets" --prepared "$prepared" --data "$DATA" --out "$built"
python german_correction.py --data "$DATA" --texts "$prepared/made.txt" --folder "$built/embedded-de" --write
python german_card.py --built "$built" --before "$shipped/embedded-de" --data "$DATA"
echo "$built/embedded-de"
