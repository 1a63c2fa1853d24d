# The engine, built for one release of ADIOS2 with its features:
#   stepstore_adios2_adapter(TARGET INCLUDE dir CXX library CORE library HEADERS [dir] DEPENDS targets...)
# HEADERS is where those of its core are; without them there is no native engine. The file name says what it
# is for: adapter_name.h has the rule.
set(adios2_sources ${CMAKE_CURRENT_LIST_DIR})

# The headers of ADIOS2 before 2.11 write the destructor of a class template as C++20 forbids it.
function(stepstore_mend_adios2_headers target)
  foreach(root ${ARGN})
    set(header ${root}/adios2/core/Variable.h)
    if(NOT EXISTS ${header})
      continue()
    endif()
    file(READ ${header} text)
    string(REPLACE "~Variable<T>()" "~Variable()" mended "${text}")
    if(NOT mended STREQUAL text)
      string(REPLACE "    Variable<T>(const std::string" "    Variable(const std::string" mended "${mended}")
      string(REGEX REPLACE "#include \"([A-Za-z.]+)\"" "#include <adios2/core/\\1>" mended "${mended}")
      set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}-headers)
      file(WRITE ${folder}/adios2/core/Variable.h "${mended}")
      target_include_directories(${target} SYSTEM BEFORE PRIVATE ${folder})
    endif()
    return()
  endforeach()
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/check_classes.cmake)

function(stepstore_adios2_adapter target)
  cmake_parse_arguments(arg "" "INCLUDE;CXX;CORE" "HEADERS;DEPENDS" ${ARGN})
  set(config ${arg_INCLUDE}/adios2/common/ADIOSConfig.h)
  file(STRINGS ${config} line REGEX "define ADIOS2_VERSION_STR ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" release "${line}")
  string(REGEX REPLACE "^([0-9]+\\.[0-9]+\\.[0-9]+)\\.(0|1[0-9][0-9][0-9])$" "\\1" release "${release}")
  # Of development versions it is the next one's.
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${arg_CORE} OUTPUT_VARIABLE dynamic)
  if(NOT dynamic MATCHES "SONAME[ \t]+libadios2_core\\.so\\.([0-9]+\\.[0-9]+)")
    message(FATAL_ERROR "Stepstore: ${arg_CORE} has no SONAME of ADIOS2's core; "
      "-DSTEPSTORE_ADIOS2=OFF builds without the ADIOS2 plugin")
  endif()
  set(series ${CMAKE_MATCH_1})
  set(features "")
  foreach(feature CUDA DERIVED_VARIABLE GPU_SUPPORT KOKKOS)
    file(STRINGS ${config} line REGEX "^#define ADIOS2_HAVE_${feature}$")
    if(line)
      list(APPEND features ${feature})
    endif()
  endforeach()
  set(suffix ${release})
  string(REPLACE ";" "+" names "${features}") # a definition cannot have a semicolon
  if(features)
    string(TOLOWER "-${names}" end)
    string(APPEND suffix ${end})
  endif()

  # Linked to ADIOS2 by name only: no run path to the ADIOS2 of the build, the process has its own already.
  set(engine ${adios2_sources}/engine)
  set(sources attributes.cc engine_door.cc group.cc memory_selection.cc operators.cc other_parameters.cc
    parameters.cc read.cc read_blocks.cc read_get.cc read_show.cc structures.cc write.cc
    write_device.cc)
  # What stands on the core: the native engine, and what the plugin has beyond the public interface.
  if(arg_HEADERS)
    list(APPEND sources core_engine.cc default_reader.cc introspection.cc inventory.cc)
    if(DERIVED_VARIABLE IN_LIST features)
      list(APPEND sources derived.cc read_derived.cc write_derived.cc)
    endif()
    if(GPU_SUPPORT IN_LIST features)
      list(APPEND sources page_locked.cc)
    endif()
  else()
    list(APPEND sources without_core.cc)
  endif()
  if(series VERSION_LESS 2.12)
    list(APPEND sources core_plugin.cc)
  elseif(arg_HEADERS)
    list(APPEND sources engine.cc plugin_host.cc)
  else()
    list(APPEND sources engine.cc)
  endif()
  list(TRANSFORM sources PREPEND ${engine}/)
  stepstore_library(${target} MODULE SOURCES ${sources} PRIVATE_DEPENDS ${arg_DEPENDS} ${arg_CXX} ${arg_CORE})
  target_include_directories(${target} PRIVATE ${adios2_sources})
  # Only the installation has ADIOSConfig.h.
  target_include_directories(${target} SYSTEM BEFORE PRIVATE ${arg_HEADERS} ${arg_INCLUDE})
  target_compile_definitions(${target} PRIVATE STEPSTORE_ADIOS2_RELEASE="${release}"
    STEPSTORE_ADIOS2_FEATURES="${names}" STEPSTORE_ADIOS2_INTERFACE="${STEPSTORE_ADIOS2_INTERFACE}")
  if(arg_HEADERS)
    stepstore_vtable_size(${arg_CORE} _ZTVN6adios24core6EngineE size -D)
    target_compile_definitions(${target} PRIVATE STEPSTORE_ADIOS2_CORE
      STEPSTORE_ADIOS2_ENGINE_VTABLE=${size}
      STEPSTORE_ADIOS2_CORE_SONAME="libadios2_core.so.${series}"
      STEPSTORE_ADIOS2_CORE_MPI_SONAME="libadios2_core_mpi.so.${series}")
    add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -DCMAKE_NM=${CMAKE_NM}
      -DENGINE=$<TARGET_FILE:${target}> -DCORE=${arg_CORE} -DSIZE=${size}
      -P ${adios2_sources}/check_classes.cmake VERBATIM)
    stepstore_mend_adios2_headers(${target} ${arg_HEADERS} ${arg_INCLUDE})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME stepstore_adios2_engine-${suffix}
    BUILD_WITH_INSTALL_RPATH TRUE INSTALL_RPATH "$ORIGIN${STEPSTORE_CALIPER_RPATH}")
endfunction()
