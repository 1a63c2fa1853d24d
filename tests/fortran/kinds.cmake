# cmake -DTEMPLATE=kind.f90.in -DOUTPUT=... -P kinds.cmake: a test for each type and rank.
cmake_minimum_required(VERSION 3.25)
set(kinds
  "int8|integer(int8)|int(mod(i, 120), int8)|=="
  "int16|integer(int16)|int(i, int16)|=="
  "int32|integer(int32)|i|=="
  "int64|integer(int64)|int(i, int64)*10**9|=="
  "real32|real(real32)|real(i, real32)|=="
  "real64|real(real64)|real(i, real64)/3|=="
  "complex64|complex(real32)|cmplx(i, -i, real32)|=="
  "complex128|complex(real64)|cmplx(i, -i, real64)/3|=="
  "logical|logical|mod(i, 3) == 0|.eqv."
  "bool|logical(c_bool)|logical(mod(i, 3) == 0, c_bool)|.eqv."
  "character|character(len=3)|achar(65 + mod(i, 26))//'y'//achar(97 + mod(i, 7))|==")
file(READ ${TEMPLATE} template)
set(tests "")
set(calls "")
foreach(kind IN LISTS kinds)
  string(REPLACE "|" ";" parts "${kind}")
  list(GET parts 0 ID)
  list(GET parts 1 DECLARATION)
  list(GET parts 2 VALUE)
  list(GET parts 3 SAME)
  foreach(RANK RANGE 1 7)
    # 5 x 2 x ... x 3 elements in memory, every second of the first dimension in the array.
    set(EXTENTS 5)
    set(PARTS 3)
    set(rest "")
    if(RANK GREATER 1)
      math(EXPR middle "${RANK} - 2")
      string(REPEAT ", 2" ${middle} twos)
      string(APPEND EXTENTS "${twos}, 3")
      string(APPEND PARTS "${twos}, 3")
      string(REPEAT ", :" ${middle} rest)
      string(APPEND rest ", :")
    endif()
    set(FORWARD "1:5:2${rest}")
    set(BACKWARD "5:1:-2${rest}")
    set(BETWEEN "2:4:2${rest}")
    string(CONFIGURE "${template}" text @ONLY)
    string(APPEND tests "${text}")
    string(APPEND calls "    call test_${ID}_${RANK}()\n")
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "module kinds_test
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use checks
  use stepstore
  implicit none
  private
  public :: test_kinds
contains
  subroutine test_kinds()
${calls}  end subroutine test_kinds
${tests}end module kinds_test
")
