#!/bin/sh
# Writes the lock files from requirements.in and requirements-test.in. Needs uv and awk.
# One set of pins for Python 3.10 to 3.13, so that every machine runs the same code. torch has a file of its own,
# because which build fits (CPU, CUDA) depends on the machine; the libraries of its CUDA build are a lock of their own.
set -eu
cd "$(dirname "$0")"
resolve() {
  uv pip compile --quiet --universal --python-version 3.10 --fork-strategy fewest --overrides requirements-torch.lock \
    --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-package torch "$@"
}
runtime() { awk '/^[a-z]/ { skip = /^(nvidia|cuda|triton)/ || / == .emscripten/ } !skip'; }
cuda() { awk '/^[a-z]/ { keep = /^(nvidia|cuda|triton)/ } keep'; }
keep() { cat > "$1.new" && mv "$1.new" "$1"; }

resolve requirements.in | runtime | keep requirements.lock
resolve requirements.in | cuda | keep requirements-cuda.lock
resolve requirements-test.in --constraints requirements.lock | runtime | keep requirements-test.lock
