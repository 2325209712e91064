"""Recipe for spack.

Checked on Debian: the syntax, and that it names every dependency of the build (test/packages/recipes.sh).  A build,
`spack style` and `spack audit` were not run, as Debian has no spack.
"""
from spack.package import *


class Hdf5VolBucket(CMakePackage):
    """HDF5 VOL connector that turns a bucket (S3 or a folder) into an HDF5 file. Unmodified HDF5 programs read and write domains in the
    schema of HSDS, and read HDF5 and netCDF-4 files in S3 or behind https, with no server in between."""

    # The project has no public address yet.
    homepage = "https://vol-bucket.invalid"
    git = "https://vol-bucket.invalid/vol-bucket.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("hdf5@1.14:+shared")
    depends_on("bzip2+shared")
    depends_on("c-blosc@1.20:1")
    depends_on("curl@7.76: tls=openssl")
    depends_on("expat")
    depends_on("isa-l@2.30:")
    depends_on("jansson@2.13:")
    depends_on("libaec")
    depends_on("libdeflate")
    depends_on("lmdb")
    depends_on("lz4")
    depends_on("openssl@3:")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("zstd")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("HDF5_ROOT", self.spec["hdf5"].prefix),
            self.define("H5BUCKET_PLUGIN_DIR", "lib/hdf5/plugin"),
        ]

    def setup_run_environment(self, env):
        # A program that creates domains sets HDF5_VOL_CONNECTOR=bucket by itself.
        env.prepend_path("HDF5_PLUGIN_PATH", join_path(self.prefix, "lib/hdf5/plugin"))
