#!/usr/bin/env bash
# Redo the four papers with Davy's commands alone, from a folder that holds a folder a corpus (docs/data/corpora.md).
#
#   scripts/redo_papers.sh DATA OUT [POSTS]
#
# Each command is printed before it runs. What needs data that DATA lacks is passed over and said. POSTS is how many
# unlabelled posts the sampling looks at (2,000 unless told). Transformers are left out: davy reproduce edos --encoder … runs them.
set -euo pipefail
data=$(realpath "$1") out=$2 posts=${3:-2000}
mkdir -p "$out" && out=$(realpath "$out") && cd "$out"
export DAVY_DATABASE="sqlite:///$out/papers.sqlite" DAVY_CACHE="${DAVY_CACHE:-$out/cache}" COLUMNS=120

step() { printf '\n$ %s\n' "$(sed "s#$data#DATA#g" <<<"$*")"; local start=$SECONDS; "$@"; printf '(%s s)\n' $((SECONDS - start)); }
title() { printf '\n\n## %s\n' "$*"; }
has() { for name in "$@"; do [ -e "$data/$name" ] || { printf '\nPassed over: DATA has no %s.\n' "$name"; return 1; }; done; }

title "EDOS (Kirk et al. 2023)"
if has edos; then
  step davy describe "$data/edos" --corpus edos --out edos-about                       # Table 2
  step davy split "$data/edos" --corpus edos --check --out edos-straddling.csv
fi
if has guest2021 hatemojibuild; then                                                    # appendix D: the judge
  cat > judge.yaml <<YAML
strategies:
  - {name: guest, kind: corpus, corpus: guest2021, path: $data/guest2021,
     labels: {sexist: {column: misogynistic.gold, values: {misogynistic: sexist, not misogynistic: not sexist}}}}
  - {name: about women, kind: corpus, corpus: hatemojibuild, path: $data/hatemojibuild, rule: "(women OR woman OR girl OR girls OR she OR her)",
     labels: {sexist: {column: hate.gold, values: {hateful: sexist, not hateful: not sexist}}}}
YAML
  step davy collect --strategies judge.yaml --out judge-all.parquet
  step davy clean judge-all.parquet --recipe edos-judge --out judge-clean.parquet
  step davy split judge-clean.parquet --plan 90/10 --stratify source --stratify sexist --replace --out judge.parquet
  step davy train judge.parquet --kind tfidf --split train --scheme edos --question sexist --out judge-run
  step davy evaluate judge.parquet --split test --scheme edos --question sexist --errors 0 --model judge-run/seed-1/model
fi
if has reddit && [ -e judge-run ]; then                                                 # sections 3.2 and 3.3
  step davy collect "$data"/reddit/* --platform plain --source reddit --licence PDDL-1.0 --most "$posts" --out pool.parquet
  step davy clean pool.parquet --recipe edos --out clean.parquet
  davy sample --plan edos --show | sed -e '/^by:/d' -e '/^pools:/,/pick up artists:/d' > plan.yaml   # one source, no boards
  step davy sample clean.parquet --plan plan.yaml --judge "sexism=judge-run/seed-1/model#sexist" --out sample.parquet
fi

title "GMHP7k (Glasebach et al. 2024)"
if has gmhp7k; then
  step davy convert "$data/gmhp7k" --corpus gmhp7k --out gmhp7k.parquet
  step davy clean gmhp7k.parquet --recipe gmhp7k --out gmhp7k-clean.parquet            # Data Collection: none is dropped
  step davy describe "$data/gmhp7k" --corpus gmhp7k --clouds frequency --out gmhp7k-about   # Table 6, Figure 3
  step davy convert "$data/gmhp7k" --corpus gmhp7k --each-answer --out answers.csv
  step davy agree answers.csv --scheme gmhp7k --by phase --resamples 0                  # Tables 4 and 5
  step davy database create
  step davy project create gmhp7k --name german
  for file in "$data"/gmhp7k/misogynistic_hatespeech_phase*.csv; do step davy project import german "$file" --corpus gmhp7k; done
  step davy project show german
  step davy project corpus german --out german.parquet
fi

title "Hatemoji (Kirk et al. 2022)"
if has hatemojibuild; then
  step davy describe "$data/hatemojibuild" --corpus hatemojibuild --out hatemoji-about
  step davy split "$data/hatemojibuild" --corpus hatemojibuild --check --out hatemoji-straddling.csv
fi

title "Hateful Memes (Kiela et al. 2020)"
if has harmeme; then
  step davy convert "$data/harmeme" --corpus harmeme --out memes.parquet
  step davy split memes.parquet --plan 85/5/10 --replace --split-column part --out memes-split.parquet
fi

title "The four tables"
step davy reproduce all --data "$data" --out tables
