#!/usr/bin/env bash
# isa_objects_test.sh <level> <file that lists objects> <build type> <flags>
# Looks into the object files of one instruction-set level.
# A weak function that other files share may be kept in its widest copy for the whole program, and
# then crash on a machine without those instructions. So every weak function has to carry its level
# in its name. And wide levels must really use fused multiply-add.
set -euo pipefail

level=$1 list=$2 build_type=$3 flags=$4
mapfile -t objects <"$list"

if [[ "$build_type" != Release || "$flags" == *-fsanitize* ]]; then
  echo "skipped: only optimised builds are meant for other machines, this one is '$build_type'"
  exit 77
fi
for tool in nm objdump; do
  command -v "$tool" >/dev/null || { echo "skipped: binutils' $tool is not here"; exit 77; }
done
((${#objects[@]} > 0)) || { echo "no object files are listed in $list"; exit 1; }

# The namespace of the level, or xsimd's name for the architecture as a template argument.
# Its casts between vectors of NEON name none, and are no instruction.
casts='xsimd::kernel::wrap::vreinterpretq_'
case "$level" in
  sse42) own='::sse42::|xsimd::sse4_2' ;;
  avx2) own='::avx2::|xsimd::fma3<xsimd::avx2>|xsimd::avx2' ;;
  avx512) own='::avx512::|xsimd::avx512' ;;
  avx512_bf16) own='::avx512_bf16::|xsimd::avx512' ;;
  avx512_vnni) own='::avx512_vnni::|xsimd::avx512' ;;
  amx) own='::amx::|xsimd::avx512' ;;
  neon_dotprod) own="::neon_dotprod::|xsimd::neon|$casts" ;;
  neon) own="::neon::|xsimd::neon|$casts" ;;
  *) echo "unknown level '$level'; allowed: sse42, avx2, avx512, avx512_bf16, avx512_vnni, amx, neon, neon_dotprod"; exit 2 ;;
esac

failed=0
fused=0
for object in "${objects[@]}"; do
  # W with an address is a weak function defined here. Weak data (V, u) holds no instructions.
  shared=$(nm --demangle "$object" | grep -E '^[0-9a-f]+ W ' | grep -Ev "$own" || true)
  if [[ -n "$shared" ]]; then
    printf '%s has weak functions that other files may share:\n%s\n' "$object" "$shared"
    failed=1
  fi
  fused=$((fused + $(objdump --disassemble --no-show-raw-insn "$object" | grep -c vfmadd || true)))
done

if [[ ("$level" == avx2 || "$level" == avx512) && $fused -eq 0 ]]; then
  echo "no object holds a fused multiply-add: ${objects[*]}"
  failed=1
fi
echo "${#objects[@]} object files of level $level, $fused fused multiply-adds"
exit "$failed"
