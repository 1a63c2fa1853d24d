# cmake -DSOURCE_DIR=... -DERRNO_H=... -DARRAYS_H=... -DOUTPUT=... -P generate.cmake: makes the module
# `stepstore` of its templates, with one procedure for each type and rank. Needs nothing but CMake.
cmake_minimum_required(VERSION 3.25)
cmake_policy(SET CMP0007 NEW)

# Name in procedures, declaration of the data, declaration of a copy, type, what an element's address is of.
set(kinds
  "int8|integer(int8)|integer(int8)|STEPSTORE_INT8|"
  "int16|integer(int16)|integer(int16)|STEPSTORE_INT16|"
  "int32|integer(int32)|integer(int32)|STEPSTORE_INT32|"
  "int64|integer(int64)|integer(int64)|STEPSTORE_INT64|"
  "real32|real(real32)|real(real32)|STEPSTORE_REAL32|"
  "real64|real(real64)|real(real64)|STEPSTORE_REAL64|"
  "complex64|complex(real32)|complex(real32)|STEPSTORE_COMPLEX64|"
  "complex128|complex(real64)|complex(real64)|STEPSTORE_COMPLEX128|"
  "logical|logical|logical|default_logical|"
  "bool|logical(c_bool)|logical(c_bool)|STEPSTORE_LOGICAL8|"
  "character|character(len=*)|character(len=len(data))|stepstore_character_of(len(data))|(1:1)")

# @NAME@ in the template SOURCE by the variables of the caller.
function(fill out source)
  file(READ ${SOURCE_DIR}/${source} text)
  string(CONFIGURE "${text}" text @ONLY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# "name, name, ..." over several lines of Fortran.
function(fortran_list out)
  set(text "&\n      ")
  set(line "")
  foreach(name IN LISTS ARGN)
    string(LENGTH "${line}, ${name}" length)
    if(line STREQUAL "")
      set(line ${name})
    elseif(length GREATER 80)
      string(APPEND text "${line}, &\n      ")
      set(line ${name})
    else()
      string(APPEND line ", ${name}")
    endif()
  endforeach()
  set(${out} "${text}${line}" PARENT_SCOPE)
endfunction()

# The lines that take the addresses of a block's neighbours in each dimension.
function(addresses out rank element)
  string(REPEAT "1, " ${rank} ones)
  string(REGEX REPLACE ", $" "" ones "${ones}")
  set(text "    if (.not. block_memory%is_empty()) then\n")
  string(APPEND text "      block_memory%first = c_loc(data(${ones})${element})\n")
  foreach(dimension RANGE 1 ${rank})
    set(place "")
    foreach(other RANGE 1 ${rank})
      if(other EQUAL dimension)
        list(APPEND place 2)
      else()
        list(APPEND place 1)
      endif()
    endforeach()
    list(JOIN place ", " place)
    string(APPEND text "      if (size(data, ${dimension}) > 1) block_memory%strides(${dimension}) = &\n"
      "        distance(block_memory%first, c_loc(data(${place})${element}))\n")
  endforeach()
  string(APPEND text "    end if")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${ERRNO_H} text)
string(REGEX MATCHALL "X\\(with, DER_[A-Z0-9_]+, [0-9]+" entries "${text}")
set(ERRORS "")
foreach(entry IN LISTS entries)
  string(REGEX REPLACE "X\\(with, (.*), ([0-9]+)" "  integer, parameter, public :: \\1 = \\2\n" entry
    "${entry}")
  string(APPEND ERRORS "${entry}")
endforeach()
file(STRINGS ${ARRAYS_H} lines REGEX "^ +STEPSTORE_[A-Z]+[0-9]* = [0-9]+")
set(TYPES "")
foreach(line IN LISTS lines)
  if(line MATCHES "(STEPSTORE_(INT|UINT|REAL|COMPLEX|CHARACTER|LOGICAL)[0-9]*) = ([0-9]+)")
    string(APPEND TYPES "  integer(int64), parameter, public :: ${CMAKE_MATCH_1} = ${CMAKE_MATCH_3}\n")
  endif()
endforeach()

set(SPECIFICS "")
foreach(kind IN LISTS kinds)
  string(REPLACE "|" ";" parts "${kind}")
  list(GET parts 0 ID)
  list(GET parts 1 DECLARATION)
  list(GET parts 2 COPY)
  list(GET parts 3 TYPE)
  list(GET parts 4 element)
  foreach(RANK RANGE 1 7)
    string(REPEAT ":, " ${RANK} COLONS)
    string(REGEX REPLACE ", $" "" COLONS "${COLONS}")
    addresses(ADDRESSES ${RANK} "${element}")
    fill(text specific_transfer.f90.in)
    string(APPEND SPECIFICS "${text}")
    list(APPEND writes write_${ID}_${RANK})
    list(APPEND reads read_${ID}_${RANK})
  endforeach()
  if(NOT ID STREQUAL "character")
    fill(text specific_attribute.f90.in)
    string(APPEND SPECIFICS "${text}")
    list(APPEND sets set_${ID} set_${ID}_1)
    list(APPEND gets get_${ID} get_${ID}_1)
  endif()
endforeach()
fortran_list(WRITES ${writes})
fortran_list(READS ${reads})
fortran_list(SETS set_text set_texts ${sets})
fortran_list(GETS get_text get_texts ${gets})
fill(TRANSFER transfer.f90.in)
fill(ATTRIBUTES attributes.f90.in)
fill(text stepstore.F90.in)
file(WRITE ${OUTPUT} "${text}")
