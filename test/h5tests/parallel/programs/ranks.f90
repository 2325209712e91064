! ranks DOMAIN: each process writes its columns together with the others, and reads those of its neighbour.
program ranks
  use hdf5
  use mpi
  implicit none
  integer, parameter :: rows = 100, columns = 24
  character(len=512) :: name
  integer :: error, rank, processes, i, j, mine, from, wrong
  integer(hid_t) :: fapl, dxpl, dcpl, file, space, memory, set
  integer(hsize_t) :: whole(2), chunk(2), start(2), part(2)
  real(8), allocatable :: values(:, :)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, error)
  call get_command_argument(1, name)
  call h5open_f(error)
  call h5pcreate_f(H5P_FILE_ACCESS_F, fapl, error)
  call h5pset_fapl_mpio_f(fapl, MPI_COMM_WORLD, MPI_INFO_NULL, error)
  call h5fcreate_f(trim(name), H5F_ACC_TRUNC_F, file, error, access_prp=fapl)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)

  mine = columns / processes
  whole = [rows, columns]
  chunk = [7, 5] ! chunks cross the processes' columns
  part = [rows, mine]
  allocate (values(rows, mine))
  call h5screate_simple_f(2, whole, space, error)
  call h5screate_simple_f(2, part, memory, error)
  call h5pcreate_f(H5P_DATASET_CREATE_F, dcpl, error)
  call h5pset_chunk_f(dcpl, 2, chunk, error)
  call h5pset_deflate_f(dcpl, 4, error)
  call h5dcreate_f(file, "ranks", H5T_NATIVE_DOUBLE, space, set, error, dcpl)
  call h5pcreate_f(H5P_DATASET_XFER_F, dxpl, error)
  call h5pset_dxpl_mpio_f(dxpl, H5FD_MPIO_COLLECTIVE_F, error)

  do j = 1, mine
    do i = 1, rows
      values(i, j) = i + 1000 * (rank * mine + j)
    end do
  end do
  start = [0, rank * mine]
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, part, error)
  call h5dwrite_f(set, H5T_NATIVE_DOUBLE, values, part, error, memory, space, dxpl)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  call h5dclose_f(set, error)
  call h5fclose_f(file, error)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)

  call h5fopen_f(trim(name), H5F_ACC_RDONLY_F, file, error, access_prp=fapl)
  call h5dopen_f(file, "ranks", set, error)
  from = mod(rank + 1, processes)
  start = [0, from * mine]
  values = 0
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, part, error)
  call h5dread_f(set, H5T_NATIVE_DOUBLE, values, part, error, memory, space, dxpl)
  wrong = 0
  do j = 1, mine
    do i = 1, rows
      if (values(i, j) /= i + 1000 * (from * mine + j)) wrong = wrong + 1
    end do
  end do
  call h5dclose_f(set, error)
  call h5fclose_f(file, error)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a,i0,a,i0,a)', "fortran: ", processes, " processes, ", wrong, " wrong"
  call MPI_Finalize(error)
  if (wrong /= 0) stop 1
end program ranks
