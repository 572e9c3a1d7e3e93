#!/usr/bin/env bash
# A detector's whole life on one machine: from the corpora to a model folder with its card. A step that is done is not done again.
#     DATA=corpora WEIGHTS=DIR QWEN=FILE OUT=DIR ./run.sh english     embedded-en and embedded-en-large, a GPU
#     DATA=corpora USE=DIR WORDS=FILE QWEN=FILE OUT=DIR ./run.sh german     embedded-de, a GPU
#     OUT=DIR ./run.sh tiny          every English step on made-up posts and tiny encoders, a CPU, under two minutes
#     OUT=DIR ./run.sh tiny-german   every German step, the same way
# README.md says what these are.
set -euo pipefail
cd "$(dirname "$0")"
: "${OUT:?where everything goes}"
export PYTHONPATH=../../src
P=${PYTHON:-python3}
shipped=../../src/davy/detectors/weights
prepared=$OUT/prepared nets=$OUT/nets built=$OUT/built
mkdir -p "$prepared" "$OUT/done"
# once NAME COMMAND…: run it unless NAME is done.
once() {
    local name=$1
    shift
    [ -e "$OUT/done/$name" ] || { echo "== $name" && "$@" && touch "$OUT/done/$name"; }
}
finish() { # kind, of, name, more…: one student becomes a folder with its card
    local kind=$1 of=$2 name=$3
    shift 3
    once "finish-$name" "$P" finish.py --of "$of" --name "$name" --prepared "$prepared" --students "$prepared" --data "$DATA" --out "$built" "$@"
    once "correction-$name" sh -c "$P english_correction.py --data '$DATA' --folder '$built/$name' --share ${SHARE:-1} --write >'$built/$name.correction.json'"
    local seen=()
    [ "$kind" = large ] || [ -n "${WITHOUT_SCREEN:-}" ] || { screen "$name" && seen=(--screen "$built/$name.exit.json"); }
    once "figures-$name" sh -c "$P dev_figures.py --folder '$built/$name' --data '$DATA' --cache '$OUT/scores' >'$built/$name.dev.json'"
    once "misses-$name" sh -c "$P misses.py --folder '$built/$name' --data '$DATA' --cache '$OUT/scores' >'$built/$name.misses.json'"
    once "card-$name" "$P" card.py --folder "$built/$name" --figures "$built/$name.dev.json" \
        --misses "$built/$name.misses.json" --kind "$kind" --log "${LOG:-$prepared}" "${seen[@]}"
    echo "$built/$name"
}
screen() {
    once "screen-$1" "$P" screen.py --net "${NET:-wide}" --folder "$built/$1" --prepared "$prepared" --made "$prepared"
    once "states-$1" "$P" exit_states.py --data "$DATA" --folder "$built/$1" --layer 2 --out "$OUT/states"
    once "exit-$1" sh -c "$P exit.py --layer 2 --states '$OUT/states' --folder '$built/$1' --write >'$built/$1.exit.json'"
}
english() {
    : "${DATA:?the folder of corpora}" "${WEIGHTS:?the folder of base weights}" "${QWEN:?the language model}"
    once prepare "$P" prepare.py --data "$DATA" --weights "$WEIGHTS" --out "$prepared"
    # shellcheck disable=SC2086  # ANY_MODEL is an option or nothing
    once pack "$P" language_model.py pack --qwen "$QWEN" --keep "$prepared" ${ANY_MODEL:-}
    KEEP=$prepared ./gpu.sh
    finish small minilm embedded-en
    [ -n "${WITHOUT_LARGE:-}" ] || finish large mpnet embedded-en-large --matrix-bits 4
}
german() {
    : "${DATA:?the folder of corpora}" "${USE:?the unpacked package}" "${WORDS:?the list of German words}" "${QWEN:?the language model}"
    # shellcheck disable=SC2086  # ANY_MODEL is an option or nothing
    once prepare "$P" german.py --data "$DATA" --use "$USE" --words "$WORDS" --qwen "$QWEN" --english "$shipped/embedded-en" \
        --share "${SHARE:-1}" --out "$prepared" ${ANY_MODEL:-}
    KEEP=$prepared ./german.sh | tee -a "$OUT/german.log"
    mkdir -p "$nets"
    for label in 0 1 all; do cat "$prepared/parts/last-$label".npz.* >"$nets/last-$label.npz"; done
    once finish "$P" german_finish.py --name last --nets "$nets" --prepared "$prepared" --data "$DATA" --out "$built"
    once correction sh -c "$P german_correction.py --data '$DATA' --texts '$prepared/made.txt' --built '$built' --share ${SHARE:-1} --write >'$built/correction.json'"
    once insults sh -c "$P german_insults.py --data '$DATA' --folder '$built/embedded-de' --share ${SHARE:-1} --write >'$built/insults.json'"
    once card "$P" german_card.py --built "$built" --correction "$built/correction.json" --insults "$built/insults.json" --before "$shipped/embedded-de" --data "$DATA" --log "$OUT/german.log"
    echo "$built/embedded-de"
}
case ${1:-} in
english | german) "$1" ;;
tiny)
    once tiny "$P" tiny.py --out "$OUT/made-up"
    export DATA=$OUT/made-up/data WEIGHTS=$OUT/made-up/weights WITHOUT_SCREEN=1 WITHOUT_LARGE=1 TEACHERS=1 STUDENTS=2
    export QWEN=$OUT/made-up/qwen.gguf ANY_MODEL=--any-model B6=16 B7=16 B8=4 S6=4 S7=2 S8=1 S9=9
    export B0=16 B1=16 B2=64 B3=16 BV=16 S0=4 S1=6 S3=6 EPOCHS=1 SHARE=0.05
    english
    ;;
tiny-german)
    once tiny "$P" tiny_german.py --out "$OUT/made-up"
    export DATA=$OUT/made-up/data USE=$OUT/made-up/use WORDS=$OUT/made-up/words.msgpack.gz
    export QWEN=$OUT/made-up/qwen.gguf ANY_MODEL=--any-model SHARE=0.05
    export FOLDS=0,1,all TEACHERS=teacher STUDENTS=one AGAIN=four EACH=1 LONGEST=16
    export B0=16 B1=16 B2=64 B4=16 B5=16 B6=16 S0=3 S1=2 S2=1 S3=10 S4=3 S5=3 S6=3 S7=2
    german
    ;;
*) echo "run.sh english, german, tiny or tiny-german: say which" >&2 && exit 2 ;;
esac
