# How every target of the project is made: one place for the language level, the warnings and the sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(STEPSTORE_CCACHE ccache)
mark_as_advanced(STEPSTORE_CCACHE)
if(STEPSTORE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${STEPSTORE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPSTORE_CCACHE})
endif()

add_library(stepstore_options INTERFACE)
# GCC 12 sees overlaps in std::string's inlined operator+ that are not there (GCC bug 105329), from -O2 with
# inlining on.
target_compile_options(stepstore_options INTERFACE
  -Wall -Wextra $<$<BOOL:${STEPSTORE_WERROR}>:-Werror> $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
  -fno-omit-frame-pointer $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
if(STEPSTORE_SANITIZE STREQUAL "address")
  # GCC 12 takes parts of std::regex for uninitialized with it.
  target_compile_options(stepstore_options INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined -Wno-error=maybe-uninitialized)
  target_link_options(stepstore_options INTERFACE -fsanitize=address,undefined)
elseif(STEPSTORE_SANITIZE STREQUAL "thread")
  target_compile_options(stepstore_options INTERFACE -fsanitize=thread -Wno-error=tsan)
  target_link_options(stepstore_options INTERFACE -fsanitize=thread)
elseif(STEPSTORE_SANITIZE)
  message(FATAL_ERROR "STEPSTORE_SANITIZE is '${STEPSTORE_SANITIZE}': use address or thread")
endif()

# Most of a compiler's time goes into headers. Where a build is for use and not for work on the sources,
# twelve sources at a time are compiled as one: half the time.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT STEPSTORE_SANITIZE)
  set(unity ON)
else()
  set(unity OFF)
endif()
option(STEPSTORE_UNITY "Compile sources together and headers once (default: in Release builds)" ${unity})

# stepstore_library(NAME [STATIC|SHARED|MODULE] SOURCES... DEPENDS targets...): a library of the project.
# Sources include each other by their path below src/ ("store/store.h"), public headers below include/
# ("stepstore/client.h").
function(stepstore_library name kind)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} ${kind} ${arg_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS}
    $<BUILD_INTERFACE:stepstore_options>)
  # Symbols are bound when the library is loaded, not in the middle of a program's first request. Each takes a
  # microsecond in a process with the 60 libraries of FDB.
  if(NOT kind STREQUAL "STATIC" AND NOT APPLE)
    target_link_options(${name} PRIVATE LINKER:-z,now)
  endif()
  if(STEPSTORE_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    # What is in a source's own namespace then seems to be a header's.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# stepstore_parts(NAME SOURCES... DEPENDS targets... PRIVATE_DEPENDS targets...): what programs of one folder
# share, as a static library that is not installed.
function(stepstore_parts name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  stepstore_library(${name} STATIC SOURCES ${arg_SOURCES}
    DEPENDS ${arg_DEPENDS} PRIVATE_DEPENDS ${arg_PRIVATE_DEPENDS})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# stepstore_program(NAME SOURCES... DEPENDS targets...): an executable of the project.
function(stepstore_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} stepstore_options)
endfunction()

# stepstore_program_test(NAME TARGET [ARGUMENT...]): a test that runs the program of stepstore_test().
function(stepstore_program_test name target)
  get_target_property(start ${target} STEPSTORE_START)
  if(NOT start)
    set(start "")
  endif()
  add_test(NAME ${name} COMMAND ${start} $<TARGET_FILE:${target}> ${ARGN})
endfunction()

# stepstore_test(NAME SOURCES... DEPENDS targets... [TIMEOUT s] [SIDE_BY_SIDE n]): a GoogleTest program,
# registered with ctest as one test. SIDE_BY_SIDE: its cases mostly wait, and n processes share them.
function(stepstore_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;SIDE_BY_SIDE" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  string(REPLACE "." "_" target test_${name})
  stepstore_program(${target} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # what is tested is optimised, the tests need not be: they compile twice as fast
  target_compile_options(${target} PRIVATE -O1)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(STEPSTORE_UNITY)
    target_precompile_headers(${target} REUSE_FROM stepstore_test_headers)
    # GCC 12 warns of sums of std::string in its own header, which it does not know as a system's then.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds>)
  endif()
  if(arg_SIDE_BY_SIDE) # and so do those that run the program once more
    set_target_properties(${target} PROPERTIES STEPSTORE_START
      "${PROJECT_SOURCE_DIR}/tests/support/side_by_side.sh;${arg_SIDE_BY_SIDE}")
  endif()
  stepstore_program_test(${name} ${target})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
