! Reads the output of heat, with any number of ranks: each takes its block of every output. Prints the
! largest temperature of each output, and a mark of all of its bits.
!
! mpirun -n 2 heat_read LOCATION [ARRAY]
program heat_read
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use plate_module
  use stepstore
  implicit none

  type(stepstore_arrays) :: store
  type(stepstore_array_info) :: info
  character(len=512) :: location, name, message
  character(len=:), allocatable :: unit
  real(real64), allocatable :: block(:, :)
  real(real64) :: largest
  integer(int64) :: start(2), count(2), time, mark
  integer :: rank, ranks, ierr

  call MPI_Init()
  if (command_argument_count() < 1) then
    write (error_unit, '(a)') 'usage: heat_read LOCATION [ARRAY]'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end if
  call get_command_argument(1, location)
  name = 'temperature'
  if (command_argument_count() >= 2) call get_command_argument(2, name)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call store%open(location, STEPSTORE_READ, MPI_COMM_WORLD, ierr=ierr, message=message)
  call check('open')
  call store%inquire(name, info, ierr, message)
  call check('inquire')
  call store%get_attribute(name, 'unit', unit, ierr, message)
  call check('get the unit')

  ! Divides the plate as a program with this number of ranks would.
  call divide(info%shape(1:2), rank, ranks, start, count)
  allocate (block(count(1), count(2)))
  do time = 0, info%shape(3) - 1
    call store%read(name, block, stepstore_block([start, time]), ierr=ierr, message=message)
    call check('read')
    call field_marks(block, info%shape(1:2), start, MPI_COMM_WORLD, largest, mark)
    if (rank == 0) print '(a, i0, a, f0.6, 3a, i0)', 'output ', time, ': at most ', largest, ' ', unit, &
      ', mark ', mark
  end do
  call store%close(ierr, message)
  call check('close')
  call MPI_Finalize()

contains

  subroutine check(what)
    character(len=*), intent(in) :: what
    if (ierr == 0) return
    if (rank == 0) write (error_unit, '(4a)') 'heat_read: ', what, ': ', trim(message)
    call MPI_Finalize()
    stop 1
  end subroutine check
end program heat_read
