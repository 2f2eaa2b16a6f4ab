import numpy as np
import pytest
from layer_contract import check_refused

from keras_transformer.data.series import fibonacci, make_windows, read_series, scale


class TestReadSeries:
    def write(self, folder, text):
        (folder / "series.csv").write_text(text, encoding="utf-8")
        return folder / "series.csv"

    def test_reads_the_named_column_or_the_last_one(self, tmp_path):
        path = self.write(
            tmp_path, '"Month","Spots","Days"\n"1749-01",58.0,31\n"1749-02",62.6,28\n'
        )
        assert read_series(path).tolist() == [31, 28]
        assert read_series(path, "Spots").tolist() == [58.0, 62.6]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,b\n1,2\n", r"choose one of \['a', 'b'\]. Received: 'c'$"),
            ("", r"no such column"),
            ("a,c\n1,2\n3,x\n", r"line 3: expected a finite number. Received: 'x'$"),
            ("a,c\n1,2\n3\n", r"line 3: expected a finite number. Received: None$"),
            ("a,c\n1,nan\n", r"line 2: expected a finite number. Received: 'nan'$"),
            (f"a,c\n{'1' * 100_000},1\n", r"line 2 of series.csv must have at most 100,000 char"),
            (
                "a,c\n" + '"' + "1\n" * 70_000,
                r"series.csv, line \d+ must be valid CSV: field larger",
            ),
            ("a,c\n\0,1\n", "looks like UTF-16"),
        ],
    )
    def test_invalid_files_are_refused(self, tmp_path, text, message):
        with pytest.raises(ValueError, match=message):
            read_series(self.write(tmp_path, text), "c")
        with pytest.raises(FileNotFoundError):
            read_series(tmp_path / "missing.csv")

    def test_limits_can_be_raised(self, tmp_path):
        path = self.write(tmp_path, f"a,c\n{'1' * 100_000},3\n")
        assert read_series(path, data_limits=2).tolist() == [3]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_quoted_fields_may_have_line_breaks(self, tmp_path, end):
        path = tmp_path / "series.csv"
        path.write_bytes(f'\ufeff"a","c"{end}"1{end}\u2028",2{end}3,4{end}'.encode())
        assert read_series(path).tolist() == [2, 4]


class TestFibonacci:
    def test_the_first_numbers(self):
        assert fibonacci(9).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21]
        assert fibonacci(1).tolist() == [0]
        assert np.isfinite(fibonacci(1477)).all()

    def test_numbers_that_overflow_are_refused(self):
        check_refused(fibonacci, length=1478)
        check_refused(fibonacci, length=0)


class TestScale:
    def test_scales_to_the_range_from_0_to_1(self):
        assert scale(np.array([3.0, 1.0, 5.0])).tolist() == [0.5, 0, 1]

    @pytest.mark.parametrize("series", ([], [2.0, 2.0]))
    def test_equal_numbers_are_refused(self, series):
        with pytest.raises(ValueError, match=rf"Received: {len(series)} equal numbers$"):
            scale(np.array(series))


class TestMakeWindows:
    def test_targets_are_the_next_numbers(self):
        windows, targets = make_windows(np.arange(6.0), 3)
        assert windows[..., 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        assert targets.tolist() == [[3], [4], [5]]
        assert (windows.shape, windows.dtype, targets.dtype) == ((3, 3, 1), "float32", "float32")

    @pytest.mark.parametrize(
        ("length", "number"), [(12, 1), (13, 1), (24, 1), (25, 2), (2256, 187)]
    )
    def test_stride_equal_to_the_window_gives_no_overlap(self, length, number):
        length = max(length, 13)
        windows, targets = make_windows(np.arange(float(length)), 12, stride=12)
        assert len(windows) == len(targets) == number
        assert targets[:, 0].tolist() == [12 * i for i in range(1, number + 1)]

    def test_invalid_arguments_are_refused(self):
        with pytest.raises(ValueError, match=r"longer than a window of 3.*Received: 3 numbers$"):
            make_windows(np.arange(3.0), 3)
        for name in ("steps", "stride"):
            check_refused(
                lambda **x: make_windows(np.arange(9.0), **{"steps": 3, **x}), **{name: 0}
            )
