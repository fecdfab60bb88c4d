# Toolchain of the preset `arm`: aarch64 with Debian's cross compiler, its libraries from
# scripts/arm-root, its programs run by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(arm_root "${CMAKE_CURRENT_LIST_DIR}/../build-arm-root" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${arm_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Libraries that those linked here need in turn.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${arm_root}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64;-L;${arm_root};-E;LD_LIBRARY_PATH=${arm_root}/usr/lib/aarch64-linux-gnu)
