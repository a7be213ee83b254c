# Sourced by the other tools: where things are built, and with which linker.
# Needs $root, the clone's top folder. TIMESTRATA_VENV names another virtual environment than
# the usual one: the comparison with Python packages has its own, for it needs one Python version.

cache=${TIMESTRATA_CACHE:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/timestrata}
clone=$(basename "$root")-$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
export VIRTUAL_ENV=$cache/$clone/${TIMESTRATA_VENV:-venv}
# Where the site is built.
export DOCS_DIR=$cache/$clone/docs
export PATH=$VIRTUAL_ENV/bin:$PATH:${CARGO_HOME:-${HOME}/.cargo}/bin
export PYTHONDONTWRITEBYTECODE=1
# Some tests hold ours against what is written in Go.
export GOCACHE=$cache/go/build GOMODCACHE=$cache/go/modules
unset PYTHONHOME CONDA_PREFIX

# A fast linker where there is one and a C compiler that knows it; never a must.
if [ -z "${RUSTFLAGS:-}" ] && [ -z "${CARGO_ENCODED_RUSTFLAGS:-}" ] && [ "$(uname -s)" = Linux ]; then
    for linker in mold lld; do
        if command -v "$linker" >/dev/null 2>&1 || command -v "ld.$linker" >/dev/null 2>&1; then
            if printf 'int main(void){return 0;}' |
                cc -x c - -fuse-ld="$linker" -o /dev/null >/dev/null 2>&1; then
                export RUSTFLAGS="-C link-arg=-fuse-ld=$linker"
                break
            fi
        fi
    done
fi

# The system's RocksDB, where it is one that the comparison's bindings fit, spares building it.
rocksdb=/usr/include/rocksdb/version.h
if [ -z "${ROCKSDB_LIB_DIR:-}" ] && grep -qs 'ROCKSDB_MAJOR 7$' "$rocksdb"; then
    ROCKSDB_LIB_DIR=$(dirname "$(cc -print-file-name=librocksdb.so)")
    ROCKSDB_INCLUDE_DIR=/usr/include
    export ROCKSDB_LIB_DIR ROCKSDB_INCLUDE_DIR
fi
