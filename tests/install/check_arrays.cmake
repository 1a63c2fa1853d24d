# Run by ctest: see CMakeLists.txt beside this file. Arrays for C and Fortran, as a user's program finds them.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} --install ${STEPSTORE_BINARY_DIR} --prefix ${prefix})
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()

# By find_package. The C project has no Fortran, and the Fortran one no C.
run(${CMAKE_COMMAND} -S ${CONSUMER_SOURCE_DIR} -B ${WORK_DIR}/c -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_C_COMPILER=${C_COMPILER} "-DCMAKE_C_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${WORK_DIR}/c)
run(${WORK_DIR}/c/write_array ${WORK_DIR}/pool)
set(readers "")
if(FORTRAN_COMPILER)
  run(${CMAKE_COMMAND} -S ${CONSUMER_SOURCE_DIR}/fortran -B ${WORK_DIR}/fortran -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_Fortran_COMPILER=${FORTRAN_COMPILER} "-DCMAKE_Fortran_FLAGS=${flags}")
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/fortran)
  list(APPEND readers ${WORK_DIR}/fortran/read_array)
endif()

# By pkg-config, as the comment in stepstore-fortran.pc says.
if(PKG_CONFIG)
  set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  function(ask out)
    run(${PKG_CONFIG} ${ARGN})
    string(STRIP "${output}" output)
    separate_arguments(output UNIX_COMMAND "${output}")
    set(${out} ${output} PARENT_SCOPE)
  endfunction()
  ask(cflags --cflags stepstore-c)
  ask(libs --libs stepstore-c)
  run(${C_COMPILER} ${flags} ${cflags} ${CONSUMER_SOURCE_DIR}/write_array.c
    -o ${WORK_DIR}/write_array ${libs})
  run(${WORK_DIR}/write_array ${WORK_DIR}/pool)
  if(FORTRAN_COMPILER)
    ask(sources --variable=sources stepstore-fortran)
    ask(libs --libs stepstore-fortran)
    file(MAKE_DIRECTORY ${WORK_DIR}/modules)
    execute_process(COMMAND ${FORTRAN_COMPILER} ${flags} ${sources}
      ${CONSUMER_SOURCE_DIR}/fortran/read_array.f90 -o read_array ${libs}
      WORKING_DIRECTORY ${WORK_DIR}/modules COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND readers ${WORK_DIR}/modules/read_array)
  endif()
endif()

foreach(reader IN LISTS readers)
  run(${reader} ${WORK_DIR}/pool)
  if(NOT output MATCHES "values: 1.0 2.0 3.0 4.0 5.0 6.0")
    message(FATAL_ERROR "${reader} did not read what C wrote:\n${output}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK_DIR})
