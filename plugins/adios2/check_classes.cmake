# Included, it has stepstore_vtable_size(). `cmake -P` runs it when the engine was linked, and it compares the
# headers that the engine was compiled with and the ADIOS2 at hand. The class Introspection adds no virtual
# function to ADIOS2's class Engine, so the tables of both have one size, here SIZE bytes.

# The bytes of the table of virtual functions of a class, as `nm` tells them; 0: it has none.
function(stepstore_vtable_size file symbol result)
  execute_process(COMMAND ${CMAKE_NM} ${ARGN} -S ${file} OUTPUT_VARIABLE symbols ERROR_QUIET)
  set(${result} 0 PARENT_SCOPE)
  if(symbols MATCHES "[0-9a-f]+ ([0-9a-f]+) [A-Za-z] ${symbol}")
    math(EXPR size "0x${CMAKE_MATCH_1}")
    set(${result} ${size} PARENT_SCOPE)
  endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  stepstore_vtable_size(${ENGINE} _ZTVN9stepstore5adios13IntrospectionE compiled)
  if(compiled AND NOT compiled EQUAL SIZE) # 0: the linker was told to leave local symbols out
    message(FATAL_ERROR "Stepstore: error: the headers of ADIOS2's core are of another ADIOS2 than ${CORE}: "
      "its class Engine has a table of ${SIZE} bytes, theirs one of ${compiled}")
  endif()
endif()
