# The folder from which `stepstore adios2-build` builds the engine for another ADIOS2. It has the sources of
# the engine, the headers that they use, and all the rest of it as one archive.
set(kit ${CMAKE_BINARY_DIR}/share/adios2-adapter)
file(GLOB kit_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} engine/*.cc engine/*.h *.h)
foreach(file IN LISTS kit_sources ITEMS adapter.cmake check_classes.cmake)
  configure_file(${file} ${kit}/${file} COPYONLY)
endforeach()
configure_file(kit/CMakeLists.txt ${kit}/CMakeLists.txt COPYONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/fetch_adios2_headers.py ${kit}/fetch_adios2_headers.py COPYONLY)
configure_file(${PROJECT_SOURCE_DIR}/include/libdaos/daos_errno.h ${kit}/headers/daos_errno.h COPYONLY)
foreach(root src/base src/comm src/location src/steps include/stepstore)
  string(REGEX REPLACE "^(src|include)/" "" inside ${root})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${root}
    ${PROJECT_SOURCE_DIR}/${root}/*.h)
  foreach(header IN LISTS headers)
    configure_file(${PROJECT_SOURCE_DIR}/${root}/${header} ${kit}/headers/${inside}/${header} COPYONLY)
  endforeach()
endforeach()

# One archive of the static libraries that the engine consists of.
set(parts stepstore_steps stepstore_find stepstore_location stepstore_lease stepstore_comm stepstore_base)
set(script "CREATE ${kit}/libstepstore_adapter.a\n")
foreach(part IN LISTS parts)
  string(APPEND script "ADDLIB $<TARGET_FILE:${part}>\n")
endforeach()
set(libraries xxhash)
set(archives "")
foreach(package zstd Blosc2)
  if(${package}_FOUND AND ${package}_LIBRARY MATCHES "\\.a$")
    list(APPEND archives ${${package}_LIBRARY}) # one and the same where C-Blosc2's has zstd in it
  elseif(${package}_FOUND)
    string(TOLOWER ${package} name)
    list(APPEND libraries ${name})
  endif()
endforeach()
list(REMOVE_DUPLICATES archives)
foreach(archive IN LISTS archives)
  string(APPEND script "ADDLIB ${archive}\n")
endforeach()
file(CONFIGURE OUTPUT ${kit}/libraries.cmake CONTENT
  "set(libraries @libraries@)\nset(STEPSTORE_ADIOS2_INTERFACE @STEPSTORE_ADIOS2_INTERFACE@)\n" @ONLY)
string(APPEND script "SAVE\nEND\n")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kit.mri CONTENT "${script}")
add_custom_command(OUTPUT ${kit}/libstepstore_adapter.a
  COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/kit.mri
  DEPENDS ${parts} ${CMAKE_CURRENT_BINARY_DIR}/kit.mri VERBATIM)
add_custom_target(stepstore_adios2_kit ALL DEPENDS ${kit}/libstepstore_adapter.a)
