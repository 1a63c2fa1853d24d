# Run by ctest: see CMakeLists.txt beside this file.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} --install ${STEPSTORE_BINARY_DIR} --prefix ${prefix})
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()

# C++ by find_package, C by the name libdaos.
run(${CMAKE_COMMAND} -S ${CONSUMER_SOURCE_DIR} -B ${WORK_DIR}/build -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${flags}"
  "-DCMAKE_C_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer ${WORK_DIR}/pool)
if(NOT output MATCHES "value: hello")
  message(FATAL_ERROR "the installed C++ client did not return what it stored:\n${output}")
endif()
run(${WORK_DIR}/build/consumer_c ${WORK_DIR}/pool)
if(NOT output MATCHES "value: hello")
  message(FATAL_ERROR "the installed libdaos did not read what the C++ client stored:\n${output}")
endif()

# Arrays in C: by find_package, and by pkg-config.
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --cflags --libs stepstore-c)
string(STRIP "${output}" words)
separate_arguments(words UNIX_COMMAND "${words} ${flags}")
run(${C_COMPILER} ${CONSUMER_SOURCE_DIR}/consumer_arrays.c -o ${WORK_DIR}/build/consumer_pkg_config ${words}
  -Wl,-rpath,${prefix}/${LIBDIR})
foreach(program consumer_arrays consumer_pkg_config)
  run(${WORK_DIR}/build/${program} ${WORK_DIR}/${program})
  if(NOT output MATCHES "array: hello")
    message(FATAL_ERROR "${program}, with the installed arrays, did not read what it wrote:\n${output}")
  endif()
endforeach()

if(ECKIT_PROGRAM)
  run(${CMAKE_COMMAND} -E env PLUGINS_MANIFEST_PATH=${prefix}/share/stepstore/plugins
    DYNAMIC_LIBRARY_PATH=${prefix}/${LIBDIR} ${ECKIT_ENVIRONMENT} ${ECKIT_PROGRAM})
endif()

# Nothing that was installed points back into the build tree.
file(GLOB libraries ${prefix}/${LIBDIR}/*.so)
foreach(library IN LISTS libraries)
  execute_process(COMMAND readelf -d ${library} OUTPUT_VARIABLE dynamic)
  string(FIND "${dynamic}" "${STEPSTORE_BINARY_DIR}/" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${library} has a path of the build tree in it:\n${dynamic}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK_DIR})
