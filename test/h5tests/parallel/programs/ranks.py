"""ranks.py DOMAIN: h5py with driver "mpio": each process writes its rows together with the others, and reads all."""
import sys

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
want = numpy.arange(48 * 50, dtype="f8").reshape(48, 50)
mine = slice(rank, None, size)  # rows of all processes are in each chunk

with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as f:
    rows = f.create_dataset("rows", want.shape, "f8", chunks=(10, 20), compression="gzip", shuffle=True)
    f.attrs["made by"] = "all"
    group = f.create_group("group")
    plain = group.create_dataset("plain", (size,), "i4")
    with rows.collective:
        rows[mine] = want[mine]
    plain[rank] = rank + 5
with h5py.File(sys.argv[1], "r+", driver="mpio", comm=comm) as f:
    with f["rows"].collective:
        wrong = int((f["rows"][...] != want).sum())
    wrong += list(f["group/plain"][...]) != [i + 5 for i in range(size)]
    wrong += f.attrs["made by"] != "all"
    f.atomic = True
    wrong += not f.atomic
    f["group"].attrs["read by"] = size
with h5py.File(sys.argv[1], "r", driver="mpio", comm=comm) as f:
    wrong += f["group"].attrs["read by"] != size
wrong = comm.allreduce(wrong)
if rank == 0:
    print(f"h5py: {size} processes, {wrong} wrong")
sys.exit(int(wrong != 0))
