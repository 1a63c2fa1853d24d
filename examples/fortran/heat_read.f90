! Reads what heat writes, on any number of ranks, while it runs or afterwards: each rank takes its part of the
! rows. Prints a line for each step with sums that do not depend on the number of ranks.
!
! mpirun -n 2 heat_read [CONFIG]
program heat_read
  use mpi
  use adios2
  implicit none

  integer, parameter :: dp = kind(1.0d0)
  type(adios2_adios) :: adios
  type(adios2_io) :: io
  type(adios2_variable) :: variable
  type(adios2_attribute) :: attribute
  type(adios2_engine) :: engine
  integer(kind=8), allocatable :: shape_dims(:), ranks_dims(:)
  integer(kind=8), dimension(2) :: start_dims, count_dims
  real(dp), allocatable :: part(:, :), hottest(:)
  character(len=256) :: config
  character(len=64) :: unit
  integer(kind=8) :: cells, all_cells
  integer :: rank, ranks, ierr, status, ndims, update, row, column, step
  real(dp) :: lowest, highest

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  config = 'adios2.xml'
  if (command_argument_count() >= 1) call get_command_argument(1, config)

  call adios2_init(adios, trim(config), MPI_COMM_WORLD, ierr)
  call check(ierr, 'adios2_init')
  call adios2_declare_io(io, adios, 'Heat', ierr)
  call check(ierr, 'adios2_declare_io')
  call adios2_open(engine, io, 'heat.bp', adios2_mode_read, ierr)
  call check(ierr, 'adios2_open')
  step = 0
  do
    call adios2_begin_step(engine, adios2_step_mode_read, 60.0, status, ierr)
    call check(ierr, 'adios2_begin_step')
    if (status == adios2_step_status_end_of_stream) exit
    if (status /= adios2_step_status_ok) call check(1, 'adios2_begin_step: no step within a minute')

    call adios2_inquire_variable(variable, io, 'temperature', ierr)
    call check(ierr, 'adios2_inquire_variable temperature')
    call adios2_variable_shape(shape_dims, ndims, variable, ierr)
    call check(ierr, 'adios2_variable_shape')
    if (ndims /= 2) call check(1, 'temperature: not of two dimensions')
    ! This rank's rows: a strided part of every writer's block.
    start_dims = [shape_dims(1)*rank/ranks, 0_8]
    count_dims = [shape_dims(1)*(rank + 1)/ranks - start_dims(1), shape_dims(2)]
    call adios2_set_selection(variable, 2, start_dims, count_dims, ierr)
    call check(ierr, 'adios2_set_selection')
    if (allocated(part)) deallocate (part)
    allocate (part(count_dims(1), count_dims(2)))
    call adios2_get(engine, variable, part, adios2_mode_deferred, ierr)
    call check(ierr, 'adios2_get temperature')

    call adios2_inquire_variable(variable, io, 'hottest', ierr)
    call check(ierr, 'adios2_inquire_variable hottest')
    call adios2_variable_shape(ranks_dims, ndims, variable, ierr)
    call check(ierr, 'adios2_variable_shape hottest')
    if (allocated(hottest)) deallocate (hottest)
    allocate (hottest(ranks_dims(1)))
    call adios2_get(engine, variable, hottest, adios2_mode_deferred, ierr)
    call check(ierr, 'adios2_get hottest')
    call adios2_get(engine, 'update', update, adios2_mode_sync, ierr)
    call check(ierr, 'adios2_get update')
    call adios2_perform_gets(engine, ierr)
    call check(ierr, 'adios2_perform_gets')
    call adios2_inquire_attribute(attribute, io, 'temperature/unit', ierr)
    call check(ierr, 'adios2_inquire_attribute')
    unit = ''
    call adios2_attribute_data(unit, attribute, ierr)
    call check(ierr, 'adios2_attribute_data')
    call adios2_end_step(engine, ierr)
    call check(ierr, 'adios2_end_step')

    ! A sum of integers, each weighted by its position: it does not depend on the order of adding, and differs
    ! if data are in other places.
    cells = 0
    do column = 1, int(count_dims(2))
      do row = 1, int(count_dims(1))
        cells = cells + nint(part(row, column)*1.0e6_dp, 8)*(3*(start_dims(1) + row) + 7*column)
      end do
    end do
    call MPI_Reduce(cells, all_cells, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call MPI_Reduce(minval(part), lowest, 1, MPI_DOUBLE_PRECISION, MPI_MIN, 0, MPI_COMM_WORLD, ierr)
    call MPI_Reduce(maxval(part), highest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
      write (*, '(a, i0, a, i0, a, i0, a, i0)', advance='no') 'step ', step, ' update ', update, ' shape ', &
        shape_dims(1), 'x', shape_dims(2)
      write (*, '(a, f0.9, a, f0.9, 2a)', advance='no') ' lowest ', lowest, ' highest ', highest, &
                                                         ' ', trim(unit)
      write (*, '(a, i0, a, *(1x, f0.9))') ' sum ', all_cells, ' hottest', hottest
    end if
    step = step + 1
  end do
  call adios2_close(engine, ierr)
  call check(ierr, 'adios2_close')
  call adios2_finalize(adios, ierr)
  if (rank == 0) print '(a, i0, a)', 'end of stream after ', step, ' steps'
  call MPI_Finalize(ierr)

contains

  subroutine check(status, what)
    integer, intent(in) :: status
    character(len=*), intent(in) :: what
    integer :: ignored
    if (status == 0) return
    write (0, '(a, i0, 2a)') 'heat_read: rank ', rank, ': error in ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine check
end program heat_read
