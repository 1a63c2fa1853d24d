! The heat equation on a plate that is divided in blocks among the ranks. Each output is appended to one array
! along time: temperature(column, row, time). C reads it as temperature[time][row][column].
!
! mpirun -n 4 heat LOCATION [ARRAY [OUTPUTS]]
program heat
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi_f08
  use plate_module
  use stepstore
  implicit none

  integer, parameter :: rows = 60, columns = 90, updates_per_output = 20
  type(plate) :: plate_
  type(stepstore_arrays) :: store
  character(len=512) :: location, name, word, message
  integer :: output, outputs, ierr

  call MPI_Init()
  if (command_argument_count() < 1) then
    write (error_unit, '(a)') 'usage: heat LOCATION [ARRAY [OUTPUTS]]'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end if
  call get_command_argument(1, location)
  name = 'temperature'
  outputs = 5
  if (command_argument_count() >= 2) call get_command_argument(2, name)
  if (command_argument_count() >= 3) then
    call get_command_argument(3, word)
    read (word, *) outputs
  end if

  call plate_%make(MPI_COMM_WORLD, columns, rows)
  call store%open(location, STEPSTORE_WRITE, plate_%comm, ierr=ierr, message=message)
  call check('open')
  do output = 1, outputs
    if (output > 1) call plate_%advance(updates_per_output)
    ! The block is written from where it lies in its halo: a slab that is one element thick in time.
    call store%write(name, plate_%now(1:plate_%count(1), 1:plate_%count(2)), &
                     stepstore_block([plate_%start, 0_int64], [plate_%shape, 1_int64]), append=3, &
                     ierr=ierr, message=message)
    call check('append')
  end do
  call store%set_attribute(name, 'unit', 'degree Celsius', ierr, message)
  call check('set the unit')
  call store%close(ierr, message)
  call check('close')
  if (plate_%rank == 0) print '(i0, a)', outputs, ' outputs'
  call MPI_Finalize()

contains

  ! All ranks get the same code and text. So all of them leave, and one of them says why.
  subroutine check(what)
    character(len=*), intent(in) :: what
    if (ierr == 0) return
    if (plate_%rank == 0) write (error_unit, '(4a)') 'heat: ', what, ': ', trim(message)
    call MPI_Finalize()
    stop 1
  end subroutine check
end program heat
