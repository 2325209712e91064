"""A pytest plugin with the parts of pytest-mpi, which Debian lacks, that h5py's parallel tests need."""
import os
import tempfile

import pytest
from mpi4py import MPI


def pytest_configure(config):
    config.addinivalue_line("markers", "mpi: a test of several processes")
    config.addinivalue_line("markers", "mpi_skip: not a test of several processes")


@pytest.fixture
def mpi_file_name():
    """A name that no file has, the same in all processes."""
    comm = MPI.COMM_WORLD
    folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    yield os.path.join(folder, "test.h5")
