#!/usr/bin/env bash
# Loads the shards with the real classes of other trainers, each in an environment of its own:
#   tests/peers/run.sh [FOLDER FOR THE ENVIRONMENTS] [PEER ...]
# An environment that is there for the same requirements is used again.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-.venv/peers}
peers=("${@:2}")
[ ${#peers[@]} -gt 0 ] || peers=(verl trl openrlhf)
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 RAY_USAGE_STATS_ENABLED=0

for peer in "${peers[@]}"; do
    list=requirements/peers-$peer.txt
    env=$folder/$peer
    python=$env/bin/python
    if ! cmp -s "$list" "$env/installed"; then
        echo "== $peer: environment"
        rm -rf "$env"
        ${PYTHON:-python3} -m venv "$env"
        "$python" -m pip install --quiet --prefer-binary --no-compile -r "$list"
        "$python" -m pip install --quiet --no-compile --no-deps "$(sed -n 's/^# peer: //p' "$list")" -e .
        cp "$list" "$env/installed"
    fi
    echo "== $peer: tests"
    "$python" -m pytest -q -p no:cacheprovider -W ignore::pytest.PytestConfigWarning "tests/peers/test_$peer.py"
done
