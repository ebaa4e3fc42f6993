#!/usr/bin/env bash
# Builds the core, runs the tests of the GPU and its benchmark, on a machine with a GPU and no network.
#
#   bash benchmarks/gpu.sh wheels    with a network: download what is needed into build/gpu-wheels (pip download)
#   bash benchmarks/gpu.sh           there: build, test, measure; logs go to $OUT if that is set
#   bash benchmarks/gpu.sh --only kernels,histograms,parts,watch    the same with a part of the benchmark
#
# The machine brings python3 with torch, NumPy, CMake or ninja, and a C++ compiler. TBQ_PYTHON_VERSION is its Python.
set -u
cd "$(dirname "$0")/.."
WHEELS=build/gpu-wheels
SITE=build/gpu-site
if [ "${1:-}" = wheels ]; then
  mkdir -p "$WHEELS"
  version=${TBQ_PYTHON_VERSION:-3.12}
  ${PYTHON:-python3} -m pip download -q -d "$WHEELS" --no-deps --only-binary=:all: --implementation cp \
    --python-version "$version" --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
    nanobind pytest pluggy iniconfig packaging pygments pytest-timeout hypothesis sortedcontainers \
    tensorboard tensorboardX protobuf absl-py grpcio markdown werkzeug markupsafe tensorboard-data-server typing_extensions
  exit $?
fi
OUT=${OUT:-build/gpu-out}
mkdir -p "$OUT" "$SITE"
export OUT PYTHONUNBUFFERED=1
for wheel in "$WHEELS"/*.whl; do python3 -m zipfile -e "$wheel" "$SITE"; done
# The machine's own packages come first, apart from tbq: what it lacks is taken from the wheels.
own=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
export PYTHONPATH="$PWD/src:$own:$PWD/$SITE:$PWD"
python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.cuda.is_available())'
header="$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h"
if [ ! -e "$header" ]; then echo "no $header: the core cannot be built here"; find / -name Python.h 2> /dev/null; exit 1; fi
if ! python3 -c 'from tbq import _core' 2> /dev/null; then
  rm -f src/tbq/_core.*
  (cmake -S . -B build/gpu-core -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$(command -v python3)" \
    && cmake --build build/gpu-core --target _core && cp build/gpu-core/_core*.so src/tbq/) > "$OUT/build.log" 2>&1 \
    || { tail -n 60 "$OUT/build.log"; exit 1; }
fi
python3 -c 'import tbq._core; print("core:", tbq._core.__file__)' || exit 1
status=0
timeout 170 python3 -m pytest -q --maxfail=20 -W default -p no:cacheprovider tests/gpu \
  tests/interop/test_fused_histogram.py 2>&1 | tee "$OUT/tests-gpu.log"
[ "${PIPESTATUS[0]}" = 0 ] || status=1
timeout 220 python3 -m benchmarks.bench_gpu "$@" 2>&1 | tee "$OUT/bench_gpu.log"
[ "${PIPESTATUS[0]}" = 0 ] || status=1
TBQ_TEST_DEVICE=cuda timeout 150 python3 -m pytest -q --maxfail=20 -W default -p no:cacheprovider \
  tests/interop/test_write_device.py tests/interop/test_write_device_histograms.py \
  tests/interop/test_write_watch.py -k "not ranks and not table" 2>&1 | tee "$OUT/tests-device.log"
[ "${PIPESTATUS[0]}" = 0 ] || status=1
exit $status
