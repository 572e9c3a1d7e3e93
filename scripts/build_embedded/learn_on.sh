#!/usr/bin/env bash
# The shipped networks learn on, on a machine with a GPU: KEEP is what learn_on_data.py wrote, with the graphs
# (small.onnx, large.onnx, german.onnx) and the screen's weights. SHARED=1: several processes share the GPU.
#     KEEP=DIR ./learn_on.sh fresh      MiniLM anew without one corpus, by the old recipe and the new one (five minutes)
#     KEEP=DIR ./learn_on.sh english    the large network, then the small one, then its screen and exit (nine minutes)
#     KEEP=DIR ./learn_on.sh german     without one corpus, then with all (four minutes)
set -u
cd "$(dirname "$0")"
export PYTHONPATH=../../src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
K=${KEEP:?the folder of what to learn from}
P=${PYTHON:-python3}
failed=0
[ -z "${SHARED:-}" ] || . ./share_gpu.sh
job() { $P learn_on.py "$@" --keep "$K" || { failed=1 && echo "FAILED $*"; }; }
[ -e "$K/small.onnx" ] || [ ! -e "$K/skeleton.onnx.xz" ] || xz -dc "$K/skeleton.onnx.xz" >"$K/small.onnx"
case ${1:-} in
fresh)
    for corpus in ${CORPORA:-olid davidson founta2018 kennedy2020}; do
        job fresh --without "$corpus" --seconds "${S1:-270}" &
        job fresh --without "$corpus" --old --seconds "${S1:-270}" &
    done
    wait
    ;;
english)
    job large --net small --without olid --tag=-without-olid --seconds "${S2:-200}" &
    job large --seconds "${S3:-250}"
    wait
    job small --seconds "${S4:-190}"
    job cascade --seconds "${S5:-50}"
    ;;
german)
    job german --without germeval2021 --tag=-without-germeval2021 --seconds "${S6:-150}" &
    job german --without germeval --tag=-without-germeval --seconds "${S6:-150}" &
    job german --seconds "${S6:-150}" &
    wait
    ;;
*) echo "learn_on.sh fresh, english or german: say which" >&2 && exit 2 ;;
esac
exit $failed
