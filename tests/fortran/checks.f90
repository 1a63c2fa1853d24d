! What the tests share: the location, and checks that count.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08
  use stepstore
  implicit none
  public

  type(stepstore_arrays) :: store
  integer :: rank = 0, ranks = 1, ierr = 0, failures = 0, looked_at = 0
  character(len=1024) :: message = ''

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    looked_at = looked_at + 1
    if (holds) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') 'FAILED on rank ', rank, ': ', trim(what)
  end subroutine expect

  subroutine expect_success(what)
    character(len=*), intent(in) :: what
    call expect(ierr == 0, what//': '//trim(message))
    message = ''
  end subroutine expect_success

  ! The code, and a text that has this in it.
  subroutine expect_error(code, says)
    integer, intent(in) :: code
    character(len=*), intent(in) :: says
    character(len=64) :: codes
    write (codes, '(a, i0, a, i0)') 'code ', ierr, ', expected ', code
    call expect(ierr == code, trim(codes)//': '//says//': '//trim(message))
    call expect(len_trim(message) > 0 .and. index(message, says) > 0, &
                ''''//says//''' is not in: '//trim(message))
    message = ''
  end subroutine expect_error

  subroutine expect_failure(says)
    character(len=*), intent(in) :: says
    call expect(ierr /= 0, 'no error: '//says)
    call expect(index(message, says) > 0, ''''//says//''' is not in: '//trim(message))
    message = ''
  end subroutine expect_failure

  subroutine finish_checks()
    integer :: all_
    call MPI_Allreduce(failures, all_, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(i0, a, i0, a)', looked_at, ' checks on rank 0, ', all_, ' failures'
    call MPI_Finalize()
    if (all_ /= 0 .or. looked_at == 0) stop 1
  end subroutine finish_checks
end module checks
