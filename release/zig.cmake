# Compiles for another system with the clang of PyPI's `ziglang`: -DTBQ_TARGET=x86_64-linux-gnu.2.17, a zig target.
# TBQ_ZIG is the zig program.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TBQ_TARGET TBQ_ZIG)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${TBQ_TARGET}")
if(TBQ_TARGET MATCHES "windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(TBQ_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()

# CMake and ccache want one program for each tool.
foreach(tool c++ ar ranlib)
  set(program ${CMAKE_BINARY_DIR}/zig-${tool})
  set(options "")
  if(tool STREQUAL "c++")
    set(options "-target ${TBQ_TARGET}")
  endif()
  file(WRITE ${program} "#!/bin/sh\nexec '${TBQ_ZIG}' ${tool} ${options} \"$@\"\n")
  file(CHMOD ${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_CXX_COMPILER ${CMAKE_BINARY_DIR}/zig-c++)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig-ar CACHE FILEPATH "" FORCE)
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig-ranlib CACHE FILEPATH "" FORCE)

# A precompiled header is the same file each time, so that a compiler cache knows what was compiled with it.
set(CMAKE_CXX_FLAGS_INIT "-Xclang -fno-pch-timestamp")
