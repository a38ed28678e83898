"""Input files: what is refused, and by what words."""

import tempfile
import unittest
from hashlib import sha256
from pathlib import Path

import numpy as np

from mage_worker import inputs
from mage_worker.errors import WorkerError
from mage_worker.operations import check_dims, output_shape

from .cases import Case


class Files(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)

    def refused(self, case: Case) -> str:
        with self.assertRaises(WorkerError) as caught:
            inputs.load(case.operation, case.dims, self.directory, "cpu")
        return str(caught.exception)

    def test_hashes_are_those_of_the_files(self) -> None:
        case = Case("neighbor", (7, 9, 23))
        case.write(self.directory)
        hashes = inputs.load(case.operation, case.dims, self.directory, "cpu").sha256()
        self.assertEqual(list(hashes), ["a.bin", "b.bin", "rowptr.bin", "indices.bin"])
        for name, found in hashes.items():
            self.assertEqual(found, sha256((self.directory / name).read_bytes()).hexdigest())

    def test_a_wrong_length_names_file_found_and_expected(self) -> None:
        case = Case("matmul", (17, 19, 23))
        case.write(self.directory)
        (self.directory / "b.bin").write_bytes(bytes(12))
        message = self.refused(case)
        self.assertIn(str(self.directory / "b.bin"), message)
        self.assertIn("found 12 bytes, expected 1748 (f32 [23, 19])", message)

    def test_a_missing_file_is_named(self) -> None:
        case = Case("gelu", (3, 257))
        self.assertIn("a.bin: found no file, expected 3084", self.refused(case))

    def test_a_graph_that_reads_outside_is_refused(self) -> None:
        case = Case("neighbor", (3, 2, 4))
        case.write(self.directory)
        for rowptr, indices, words in (
            ([0, 1, 2, 3], [0, 1, 2, 0], "rowptr.bin: found 0 to 3, expected 0 to 4"),
            ([0, 3, 2, 4], [0, 1, 2, 0], "rowptr.bin: found 3 before 2 at row 1"),
            ([0, 1, 2, 4], [0, 1, 3, 0], "indices.bin: found node 3, expected below 3"),
        ):
            np.array(rowptr, "<u4").tofile(self.directory / "rowptr.bin")
            np.array(indices, "<u4").tofile(self.directory / "indices.bin")
            self.assertIn(words, self.refused(case))

    def test_dims(self) -> None:
        for operation, dims, words in (
            ("matmull", (1,), "found 'matmull', expected one of matmul"),
            ("matmul", (1, 2), "expected 3 for matmul: m, n, k"),
            ("gelu", (0, 2), "found rows = 0, expected at least 1"),
            ("triangle", (40000, 2), "2^31-1"),
        ):
            with self.assertRaises(WorkerError) as caught:
                check_dims(operation, dims)
            self.assertIn(words, str(caught.exception))
        check_dims("neighbor", (7, 9, 0))
        self.assertEqual(output_shape("matmul", (2, 3, 5)), (2, 3))
        self.assertEqual(output_shape("triangle", (7, 5)), (7, 7, 5))
