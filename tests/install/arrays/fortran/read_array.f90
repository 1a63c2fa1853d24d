program read_array
  use, intrinsic :: iso_fortran_env, only: real64
  use stepstore
  use stepstore_tutorial, only: daos_finish
  implicit none
  type(stepstore_arrays) :: store
  real(real64) :: values(3, 2)
  character(len=512) :: location, message
  integer :: ierr

  call get_command_argument(1, location)
  message = ''
  call store%open(location, STEPSTORE_READ, ierr=ierr, message=message)
  if (ierr == 0) call store%read('values', values, ierr=ierr, message=message)
  if (ierr == 0) call store%close(ierr, message)
  if (ierr == 0) call daos_finish(0, ierr, message)
  if (ierr /= -DER_NO_HDL) print '(a, i0, 2a)', 'failed: ', ierr, ' ', trim(message)
  print '(a, 6f4.1)', 'values:', values
end program read_array
