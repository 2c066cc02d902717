# What the scripts in ci/ share: where things are, and how a fresh machine gets what it lacks. Sourced, not run.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=$root/.cache
venv=$cache/venv
target=${CARGO_TARGET_DIR:-$root/target}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
# With which of Cargo.toml's profiles everything is built. ci/test takes the one that its Rust tests are built with.
cargo_profile=${FULGURITE_CARGO_PROFILE:-release}
# What people install runs on distributions with an older C library than this machine's: ci/package and ci/demo ask for it, and
# it has a folder of its own. Tests and measurements do without.
portable=${FULGURITE_PORTABLE:-}
glibc=2.28
build_venv=$cache/venv-build
build_requirements=$root/ci/requirements-build.txt
native=$target/${cargo_profile/#dev/debug}
# Where packages go: those for tests are not what people install.
dist=$native/dist
if [ "$cargo_profile" = release ]; then dist=$root/dist; fi
if [ -n "$portable" ]; then
  triple=$(uname -m)-unknown-linux-gnu
  native=$target/$triple/${cargo_profile/#dev/debug}
  build_venv=$cache/venv-portable
  build_requirements=$root/ci/requirements-portable.txt
fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
# The Spark and Scala versions that there is a jar for; each is a profile of jvm/spark/pom.xml. The first is the default.
spark_profiles=(spark-4.3 spark-3.5 spark-3.5-scala-2.13)

# jar_of PROFILE: where Maven leaves its jar.
jar_of() {
  local versions
  case $1 in
    spark-4.3) versions=4.3_2.13 ;;
    spark-3.5) versions=3.5_2.12 ;;
    spark-3.5-scala-2.13) versions=3.5_2.13 ;;
    *) die "'$1' is no profile; the profiles are ${spark_profiles[*]}, or all" ;;
  esac
  echo "$root/jvm/spark/target/spark-$versions/fulgurite-spark-$versions-$version.jar"
}

# choose_profiles [PROFILE...]: sets `profiles`: the first where none is named; `all` stands for all.
choose_profiles() {
  profiles=("${@:-${spark_profiles[0]}}")
  if [ "${profiles[*]}" = all ]; then profiles=("${spark_profiles[@]}"); fi
  local profile
  for profile in "${profiles[@]}"; do jar_of "$profile" >/dev/null; done
}

# build_native [OPTION...]: builds the command, the library for the JVM and the extension for Python by one call of cargo, so that
# their dependencies have the same features and are compiled once.
build_native() (
  products=(-p fulgurite-jni -p fulgurite-cli -p fulgurite-python)
  # rustup chooses the Rust by the folder.
  cd "$root"
  if [ -n "$portable" ]; then
    need_venv "$build_venv" "$build_requirements"
    # Panics name files of sources: without the folders of this machine. Other flags compile everything anew, but no other build
    # goes into this folder.
    flags=("--remap-path-prefix=$root=fulgurite" "--remap-path-prefix=$cargo_home/registry/src=registry" -Cstrip=none)
    export CARGO_ZIGBUILD_CACHE_DIR=$cache/zigbuild ZIG_GLOBAL_CACHE_DIR=$cache/zig
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; echo "${flags[*]}") \
      PATH=$build_venv/bin:$PATH cargo zigbuild --profile "$cargo_profile" --locked --target "$triple.$glibc" "${products[@]}" "$@"
    # zig strips all or nothing; backtraces need the names of functions. Cargo's other link to the file is to see it, too.
    for file in fulgurite libfulgurite_jni.so lib_native.so; do
      if readelf -SW "$native/$file" | grep '\.debug_info' >/dev/null; then
        strip --strip-debug -o "$native/stripped" "$native/$file"
        cat "$native/stripped" >"$native/$file"
        rm "$native/stripped"
      fi
    done
  elif [ "$cargo_profile" = ci ]; then
    # ci/test has built all of this already.
    cargo build --profile ci --locked --workspace --all-targets "$@"
  else
    cargo build --profile "$cargo_profile" --locked "${products[@]}" "$@"
  fi
)

# spark_home VENV: the Spark installation that pip put there.
spark_home() { "$1/bin/python" -c 'import pyspark; print(pyspark.__path__[0])'; }

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# install_debian COMMAND PACKAGE...: installs the packages where this may be done, else says what is missing.
install_debian() {
  local command=$1
  shift
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
  fi
  command -v "$command" >/dev/null || die "$command is missing: install $* (Debian's names) and run this again."
}

need_rust() {
  if ! command -v cargo >/dev/null; then
    PATH=$cargo_home/bin:$PATH
    command -v cargo >/dev/null || (install_debian rustup rustup) 2>/dev/null ||
      die "cargo is missing: install rustup, which gets the Rust of rust-toolchain.toml, and run this again."
  fi
  # rustup's cargo is of the version in rust-toolchain.toml, which rustup gets first. Others are as old as they are.
  local found wanted
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
  found=$(cd "$root" && cargo --version) || die "rustup could not get the Rust of rust-toolchain.toml: run 'rustup toolchain install' in $root."
  found=$(cut -d' ' -f2 <<<"$found")
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" = "$wanted" ] ||
    die "cargo is $found, and $wanted is needed: install rustup and run this again."
  command -v cc >/dev/null || install_debian cc gcc libc6-dev
}

need_java() {
  if ! command -v javac >/dev/null; then install_debian javac openjdk-17-jdk-headless; fi
  local major
  major=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
  [ "$major" -ge 17 ] || die "JDK 17 or newer is needed, javac on the PATH is version $major: put a newer one first on the PATH."
  command -v mvn >/dev/null || install_debian mvn maven
  if [ -z "${JAVA_HOME:-}" ]; then
    JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    export JAVA_HOME
  fi
}

# need_venv FOLDER REQUIREMENTS: a virtual environment with just these packages; made again when they change.
need_venv() {
  local folder=$1 requirements=$2 python
  python=$(command -v python3) || { install_debian python3 python3 python3-venv; python=$(command -v python3); }
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "Python 3.10 or newer is needed, $python is older."
  if ! cmp -s "$requirements" "$folder/requirements.txt"; then
    say "Python packages: $(basename "$requirements")"
    rm -rf "$folder"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_debian python3 python3-venv
    "$python" -m venv "$folder"
    "$folder/bin/pip" install -q -r "$requirements" || return
    cp "$requirements" "$folder/requirements.txt"
  fi
}
