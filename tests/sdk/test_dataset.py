"""Datasets: made, read, split, registered and handed to runs."""

import datetime
import http.server
import os
import threading

import pandas
import pytest
from azureml.core import Dataset, Datastore, Workspace
from azureml.data import (DataType, FileDataset, HDFSOutputDatasetConfig, LinkTabularOutputDatasetConfig, OutputFileDatasetConfig,
                          TabularDataset, dataset_type_definitions)
from azureml.data import _context, _files, _partition
from azureml.data.dataset_consumption_config import DatasetConsumptionConfig
from azureml.data.dataset_error_handling import DatasetExecutionError, DatasetValidationError
from azureml.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory
from azureml.exceptions import DatasetTimestampMissingError, ScenarioNotSupportedException, ServiceException, UserErrorException
from data_fixture import workspace  # noqa: F401
from ferry_fixture import read_tree, write_tree

Headers = dataset_type_definitions.PromoteHeadersBehavior


@pytest.fixture
def store(workspace):
    return Datastore.get_default(workspace)


def put(store, tmp_path, files, target=None):
    """Uploads {path: text}."""
    store.upload(write_tree(tmp_path / "put", files), target, overwrite=True, show_progress=False)


def frame_of(store, tmp_path, files, factory=TabularDatasetFactory.from_delimited_files, path="t", **options):
    put(store, tmp_path, files, path)
    return factory((store, path), **options).to_pandas_dataframe()


@pytest.fixture
def web(tmp_path):
    """A web server over tmp_path/web; gives its address."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield "http://127.0.0.1:%d" % server.server_port
    server.shutdown()
    server.server_close()


# Files


def test_paths_begin_below_the_folder_that_was_named(store, tmp_path):
    put(store, tmp_path, {"dog/y-1/1.jpg": "1", "dog/y-1/2.jpg": "2", "dog/y-2/1.jpg": "3", "dog/y-2/n.txt": "4", "cat/1.jpg": "5"}, "animals")
    make = Dataset.File.from_files
    assert make((store, "animals/dog/y-*/*.jpg")).to_path() == ["/y-1/1.jpg", "/y-1/2.jpg", "/y-2/1.jpg"]
    assert make(path=store.path("animals/dog")).to_path() == ["/y-1/1.jpg", "/y-1/2.jpg", "/y-2/1.jpg", "/y-2/n.txt"]
    assert make(store.path("animals/**/*.txt")).to_path() == ["/dog/y-2/n.txt"]
    assert make((store, "animals/cat/1.jpg")).to_path() == ["/1.jpg"]
    assert make([(store, "animals/dog/y-2"), (store, "animals/cat/?.jpg")]).to_path() == ["/dog/y-2/1.jpg", "/dog/y-2/n.txt", "/cat/1.jpg"]
    assert len(make((store, "animals/**")).to_path()) == 5


@pytest.mark.parametrize("pattern, matches, not_", [
    ("a/*.csv", ["a/x.csv"], ["a/b/x.csv", "x.csv"]),
    ("a/**/*.csv", ["a/x.csv", "a/b/c/x.csv"], ["b/x.csv", "a/x.txt"]),
    ("a/**", ["a/x", "a/b/x"], ["a", "ab/x"]),
    ("a?c", ["abc"], ["ac", "a/c"]),
    ("a.b*", ["a.b", "a.bc"], ["axb"]),
    ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/ax"]),
    ("a/b**c", ["a/bc", "a/bxc"], ["a/b/c"]),
])
def test_patterns(pattern, matches, not_):
    regex = _files.glob_regex(pattern)
    assert [path for path in matches + not_ if regex.match(path)] == matches


def test_files_are_downloaded_and_mounted(store, tmp_path, capsys):
    put(store, tmp_path, {"a.txt": "a", "b/c.txt": "c"}, "d")
    dataset = Dataset.File.from_files((store, "d"))
    got = dataset.download(tmp_path / "out")
    assert got == [str(tmp_path / "out/a.txt"), str(tmp_path / "out/b/c.txt")] and read_tree(tmp_path / "out") == {"a.txt": b"a", "b/c.txt": b"c"}
    with pytest.raises(UserErrorException, match="exists; pass overwrite=True"):
        dataset.download(tmp_path / "out")
    assert dataset.download(tmp_path / "out", overwrite=True) == got
    with dataset.mount() as mounted:
        assert read_tree(mounted.mount_point) == {"a.txt": b"a", "b/c.txt": b"c"}
        assert "in place of a mount" in capsys.readouterr().out
    assert not os.path.exists(mounted.mount_point)
    there = tmp_path / "there"
    there.mkdir()
    context = dataset.take(1).mount(str(there))
    context.start()
    assert os.listdir(context.mount_point) == ["a.txt"]
    context.stop()
    assert os.listdir(there) == []
    with pytest.raises(UserErrorException, match="mount_point must be an empty folder"):
        dataset.mount(tmp_path / "out").start()
    for path in dataset.download():
        os.unlink(path)


def test_a_path_without_files(store):
    with pytest.raises(DatasetValidationError, match="'none/.*.csv' matches no file on datastore 'workspaceblobstore'"):
        Dataset.File.from_files((store, "none/*.csv"))
    with pytest.raises(DatasetExecutionError, match="'none' matches no file on datastore"):
        Dataset.File.from_files((store, "none"), validate=False).to_path()


@pytest.mark.parametrize("path, message", [
    ([], "path must not be empty"),
    ("data/x.csv", "is no http or https URL; a file of this machine is uploaded"),
    ("ftp://host/x", "is no http or https URL"),
    ("https://host/*.csv", "a URL cannot hold a pattern"),
    (5, "path must be a URL, datastore.path"),
    ([("store", "x")], "path must be a URL, datastore.path"),
])
def test_paths_that_are_none(path, message):
    with pytest.raises(UserErrorException, match=message):
        Dataset.File.from_files(path, validate=False)


def test_urls_and_datastores_are_not_mixed(store):
    with pytest.raises(UserErrorException, match="must not be mixed"):
        Dataset.File.from_files([(store, "x"), "https://host/x"], validate=False)


def test_urls(web, tmp_path, workspace):
    write_tree(tmp_path / "web", {"d/a.csv": "x\n1\n", "d/e/b.csv": "x\n2\n"})
    dataset = Dataset.File.from_files([web + "/d/a.csv", web + "/d/e/b.csv?x=1"])
    assert dataset.to_path() == ["/a.csv", "/e/b.csv"] and dataset.workspace is None and dataset.id is None
    assert read_tree(os.path.dirname(dataset.download(tmp_path / "out")[0])) == {"a.csv": b"x\n1\n", "e/b.csv": b"x\n2\n"}
    assert dataset.data_changed_time.year >= 2020
    assert Dataset.Tabular.from_delimited_files([web + "/d/a.csv", web + "/d/e/b.csv"]).to_pandas_dataframe()["x"].tolist() == [1, 2]
    with pytest.raises(DatasetValidationError, match="none.csv' answers 404"):
        Dataset.File.from_files(web + "/none.csv")
    with pytest.raises(DatasetExecutionError, match="none.csv' answers 404"):
        Dataset.File.from_files(web + "/none.csv", validate=False).download(tmp_path / "none")
    with pytest.raises(DatasetValidationError, match="cannot be read"):
        Dataset.File.from_files("http://127.0.0.1:1/x")
    assert dataset.register(workspace, "web").workspace is workspace


def test_upload_directory(store, tmp_path, capsys):
    source = write_tree(tmp_path / "in", {"a.txt": "a", "b.csv": "b", "c/d.csv": "d"})
    dataset = Dataset.File.upload_directory(source, target=(store, "dir"), pattern="**/*.csv")
    assert type(dataset) is FileDataset and dataset.to_path() == ["/b.csv", "/c/d.csv"]
    assert "Uploaded 2 files" in capsys.readouterr().out
    with pytest.raises(UserErrorException, match="2 of 3 files are on datastore 'workspaceblobstore' already, such as 'dir/b.csv'"):
        FileDatasetFactory.upload_directory(source, store.path("dir"))
    assert len(FileDatasetFactory.upload_directory(source, store.path("dir"), overwrite=True, show_progress=False).to_path()) == 3
    with pytest.raises(UserErrorException, match="has no file that matches"):
        Dataset.File.upload_directory(source, (store, "dir"), pattern="*.none")
    with pytest.raises(UserErrorException, match="target must be a datastore"):
        Dataset.File.upload_directory(source, "dir")


def test_subsets_are_new_and_add_up(store, tmp_path):
    put(store, tmp_path, {"%03d.txt" % n: str(n) for n in range(50)}, "many")
    dataset = Dataset.File.from_files((store, "many"))
    every = dataset.to_path()
    assert dataset.take(2).to_path() == every[:2] and dataset.skip(48).to_path() == every[48:] and dataset.skip(1).take(1).to_path() == every[1:2]
    first, second = dataset.random_split(0.6, seed=7)
    assert sorted(first.to_path() + second.to_path()) == every and 15 < len(first.to_path()) < 45
    assert dataset.random_split(0.6, seed=7)[0].to_path() == first.to_path()
    one, two = dataset.random_split(0.5)
    assert one.to_path() == one.to_path() and sorted(one.to_path() + two.to_path()) == every
    assert set(dataset.take_sample(0.5, seed=1).to_path()) < set(every) and dataset.to_path() == every
    assert dataset.filter(dataset.file_metadata("Size") > 1).to_path() == every[10:]
    assert dataset.filter(dataset.file_metadata("Extension") == ".csv").to_path() == []
    for call in (lambda: dataset.take(-1), lambda: dataset.take(True), lambda: dataset.random_split(1.5), lambda: dataset.take_sample("x"),
                 lambda: dataset.random_split(0.5, seed="s"), lambda: dataset.filter(True), lambda: dataset.file_metadata("Owner")):
        with pytest.raises(UserErrorException):
            call()


def test_partition_formats_of_files(store, tmp_path):
    put(store, tmp_path, {"DE/2019/01/02/x.csv": "", "DE/2019/01/03/x.csv": "", "FR/2020/12/31/x.csv": ""}, "p")
    dataset = Dataset.File.from_files((store, "p"), partition_format="/{country}/{day:yyyy/MM/dd}/x.csv")
    assert dataset.partition_keys == ["country", "day"]
    assert dataset.get_partition_key_values(["country"])["country"].tolist() == ["DE", "FR"]
    assert dataset.get_partition_key_values()["day"].tolist()[2] == pandas.Timestamp(2020, 12, 31)
    assert dataset.filter((dataset["country"] == "DE") & (dataset["day"] > datetime.datetime(2019, 1, 2))).to_path() == ["/DE/2019/01/03/x.csv"]
    assert dataset.filter(~(dataset["country"] == "DE") | dataset["country"].starts_with("D")).to_path() == dataset.to_path()
    with pytest.raises(UserErrorException, match="is not among 'country', 'day'"):
        dataset.get_partition_key_values(["city"])
    with pytest.raises(UserErrorException, match="combine conditions with &, | and ~"):
        dataset.filter(dataset["country"] == "DE" and dataset["country"] == "FR")


@pytest.mark.parametrize("text, path, found", [
    ("/{a}/{b}/*.csv", "x/1/2/f.csv", {"a": "1", "b": "2"}),
    ("{t:yyyy-MM-dd HH}.csv", "x/2020-02-03 04.csv", {"t": datetime.datetime(2020, 2, 3, 4)}),
    ("/{t:yyyy}/{t:MM}/x", "p/2020/05/x", {"t": datetime.datetime(2020, 5, 1)}),
    ("/k={k}/part-*", "t/k=v/part-0", {"k": "v"}),
])
def test_partition_formats(text, path, found):
    assert _partition.Format(text).read(path) == found


def test_partition_formats_that_do_not_fit():
    with pytest.raises(DatasetExecutionError, match="'a/b.csv' does not fit the partition_format '/{x}/{y}/b.csv'"):
        _partition.Format("/{x}/{y}/b.csv").read("a/b.csv")
    with pytest.raises(DatasetExecutionError, match="has no time"):
        _partition.Format("/{t:yyyy/MM}/b.csv").read("2020/13/b.csv")
    for text in ("", "/none/", "/{a}/{a}", "/{a:zz}/", 5):
        with pytest.raises(UserErrorException, match="partition_format"):
            _partition.Format(text)


# Tables


def test_types_are_inferred(store, tmp_path):
    frame = frame_of(store, tmp_path, {"a.csv": "i,f,b,s,d,n\n1,1.5,true,x,2020-01-02,1\n2,2,False,\"y,z\",2020-01-03 04:05:06,\n"})
    assert list(frame.columns) == ["i", "f", "b", "s", "d", "n"]
    assert [dtype.kind for dtype in frame.dtypes] == list("ifbOMf")
    assert frame["s"].tolist() == ["x", "y,z"] and frame["d"][1] == pandas.Timestamp(2020, 1, 3, 4, 5, 6) and pandas.isna(frame["n"][1])


def test_types_are_not_inferred_when_not_asked_for(store, tmp_path):
    frame = frame_of(store, tmp_path, {"a.csv": "i,d\n01,2020-01-02\n2,\n"}, infer_column_types=False)
    assert frame["i"].tolist() == ["01", "2"] and frame["d"][0] == "2020-01-02" and pandas.isna(frame["d"][1])


def test_a_column_that_is_text_in_one_file_is_text_in_all(store, tmp_path):
    frame = frame_of(store, tmp_path, {"a.csv": "c,n\n01,1\n02,2\n", "b.csv": "c,n\nx,1.5\n"})
    assert frame["c"].tolist() == ["01", "02", "x"] and frame["n"].tolist() == [1, 2, 1.5]


def test_types_that_were_set(store, tmp_path):
    put(store, tmp_path, {"a.csv": "z;f;b;t;w;m\n007;1,5;J;03.02.2020;5;x\n008;1.002,5;N;bad;6;\n"}, "s")
    types = {"z": DataType.to_string(), "f": DataType.to_float(decimal_mark=","), "b": DataType.to_bool("J", ["N"]),
             "t": DataType.to_datetime("%d.%m.%Y"), "w": DataType.to_long(), "m": DataType.to_stream(None)}
    dataset = Dataset.Tabular.from_delimited_files((store, "s"), set_column_types=types, separator=";")
    frame = dataset.to_pandas_dataframe()
    assert frame["z"].tolist() == ["007", "008"] and frame["f"].tolist() == [1.5, 1002.5] and frame["b"].tolist() == [True, False]
    assert frame["t"][0] == pandas.Timestamp(2020, 2, 3) and pandas.isna(frame["t"][1]) and frame["w"].dtype == "int64"
    with pytest.raises(DatasetExecutionError, match="column 't' has values that are no datetime, such as 'bad'"):
        dataset.to_pandas_dataframe(on_error="fail")
    with pytest.raises(UserErrorException, match="the table has no column 'q'; it has 'z', 'f'"):
        Dataset.Tabular.from_delimited_files((store, "s"), set_column_types={"q": DataType.to_long()}, separator=";").to_pandas_dataframe()
    for types in ({"z": str}, ["z"]):
        with pytest.raises(UserErrorException, match="set_column_types"):
            Dataset.Tabular.from_delimited_files((store, "s"), set_column_types=types)


def test_headers(store, tmp_path):
    put(store, tmp_path, {"a.csv": "x,y\n1,2\n", "b.csv": "y,x\n3,4\n"}, "same")
    put(store, tmp_path / "2", {"a.csv": "x,y\n1,2\n", "b.csv": "x,z\n3,4\n"}, "other")
    read = lambda path, header: Dataset.Tabular.from_delimited_files((store, path), header=header).to_pandas_dataframe()  # noqa: E731
    assert read("same", True).values.tolist() == [[1, 2], [4, 3]]
    assert read("same", False).values.tolist() == [["x", "y"], ["1", "2"], ["y", "x"], ["3", "4"]]
    assert list(read("same", Headers.NO_HEADERS).columns) == ["Column1", "Column2"]
    assert read("same", Headers.ONLY_FIRST_FILE_HAS_HEADERS)["x"].tolist() == ["1", "y", "3"]
    combined = read("other", Headers.COMBINE_ALL_FILES_HEADERS)
    assert list(combined.columns) == ["x", "y", "z"] and combined["x"].tolist() == [1, 3] and pandas.isna(combined["z"][0])
    with pytest.raises(DatasetExecutionError, match="b.csv' cannot be read: its columns are 'x', 'z' and those of the first file are 'x', 'y'"):
        read("other", Headers.ALL_FILES_HAVE_SAME_HEADERS)
    with pytest.raises(UserErrorException, match="header must be True, False or a PromoteHeadersBehavior"):
        read("same", 7)
    with_types = Dataset.Tabular.from_delimited_files((store, "same"), header=False, set_column_types={"Column1": DataType.to_string()}).to_pandas_dataframe()
    assert with_types["Column1"].tolist() == ["x", "1", "y", "3"]


@pytest.mark.parametrize("name, codec", [("utf8", "utf-8"), ("utf-8", "utf-8"), ("latin1", "latin-1"), ("utf16", "utf-16"), ("windows1252", "cp1252"),
                                         ("utf8bom", "utf-8-sig"), ("iso88591", "iso-8859-1")])
def test_encodings(store, tmp_path, name, codec):
    assert frame_of(store, tmp_path, {"a.csv": "ä\nö\n".encode(codec)}, encoding=name)["ä"].tolist() == ["ö"]


def test_encodings_that_are_none(store, tmp_path):
    put(store, tmp_path, {"a.csv": "ä\n".encode("latin-1")}, "e")
    with pytest.raises(DatasetExecutionError, match="'/e/a.csv' cannot be read"):
        Dataset.Tabular.from_delimited_files((store, "e")).to_pandas_dataframe()
    with pytest.raises(UserErrorException, match="encoding must be one of utf8"):
        Dataset.Tabular.from_delimited_files((store, "e"), encoding="klingon")


def test_separators_paths_lines_and_empty_values(store, tmp_path):
    files = {"a.tsv": 's\tn\n"one\nline"\t1\n\t2\n'}
    frame = frame_of(store, tmp_path, files, separator="\t", support_multi_line=True, empty_as_string=True, include_path=True)
    assert list(frame.columns) == ["Path", "s", "n"] and frame["s"].tolist() == ["one\nline", ""] and frame["Path"].tolist() == ["/t/a.tsv"] * 2
    assert pandas.isna(frame_of(store, tmp_path, files, separator="\t")["s"][1])
    assert frame_of(store, tmp_path / "2", {"a": "x::y\n1::2\n"}, path="t2", separator="::").values.tolist() == [[1, 2]]


def test_partition_columns_of_tables(store, tmp_path):
    files = {"DE/2020/01/x.csv": "v\n1\n", "FR/2020/02/x.csv": "v\n2\n"}
    frame = frame_of(store, tmp_path, files, partition_format="/{country}/{month:yyyy/MM}/x.csv")
    assert list(frame.columns) == ["country", "month", "v"] and frame["country"].tolist() == ["DE", "FR"]
    assert frame["month"].tolist() == [pandas.Timestamp(2020, 1, 1), pandas.Timestamp(2020, 2, 1)]


def test_broken_files_are_named(store, tmp_path):
    put(store, tmp_path, {"a.csv": "x,y\n1,2\n1,2,3,4\n"}, "broken")
    with pytest.raises(DatasetExecutionError, match="'/broken/a.csv' cannot be read: .*line 3"):
        Dataset.Tabular.from_delimited_files((store, "broken")).to_pandas_dataframe()


def test_json_lines(store, tmp_path):
    put(store, tmp_path, {"a.jsonl": '{"a": 1, "b": {"c": [1]}}\n\n{"a": 2.5}\n'}, "j")
    make = Dataset.Tabular.from_json_lines_files
    frame = make((store, "j"), include_path=True).to_pandas_dataframe()
    assert frame["a"].tolist() == [1, 2.5] and frame["b"][0] == {"c": [1]} and frame["Path"][0] == "/j/a.jsonl"
    put(store, tmp_path / "2", {"b.jsonl": '{"a": 3}\n[1]\n'}, "j2")
    with pytest.raises(DatasetExecutionError, match="'/j2/b.jsonl' line 2 is no JSON object"):
        make((store, "j2")).to_pandas_dataframe()
    assert make((store, "j2"), invalid_lines="drop").to_pandas_dataframe()["a"].tolist() == [3]
    with pytest.raises(UserErrorException, match="invalid_lines must be"):
        make((store, "j2"), invalid_lines="maybe")


def test_columns_and_rows(store, tmp_path):
    put(store, tmp_path, {"a.csv": "a,b,c\n" + "".join("%d,%d,x\n" % (n, n * n) for n in range(20)), "b.csv": "a,b,c\n20,400,y\n"}, "r")
    dataset = Dataset.Tabular.from_delimited_files((store, "r"))
    assert type(dataset) is TabularDataset
    assert list(dataset.keep_columns("b").to_pandas_dataframe().columns) == ["b"]
    assert list(dataset.keep_columns(["c", "a"], validate=True).to_pandas_dataframe().columns) == ["c", "a"]
    assert list(dataset.drop_columns(["a", "c"]).to_pandas_dataframe().columns) == ["b"]
    assert dataset.take(3).to_pandas_dataframe()["a"].tolist() == [0, 1, 2] and len(dataset.take(21).to_pandas_dataframe()) == 21
    assert dataset.skip(19).to_pandas_dataframe()["a"].tolist() == [19, 20] and dataset.skip(19).to_pandas_dataframe().index.tolist() == [0, 1]
    assert dataset.skip(18).take(2).to_pandas_dataframe()["a"].tolist() == [18, 19] and len(dataset.take(0).to_pandas_dataframe()) == 0
    first, second = dataset.random_split(percentage=0.8, seed=1)
    assert sorted(first.to_pandas_dataframe()["a"].tolist() + second.to_pandas_dataframe()["a"].tolist()) == list(range(21))
    assert dataset.filter((dataset["b"] > 10) & (dataset["c"] == "x") & ~(dataset["a"] == 5)).take(2).to_pandas_dataframe()["a"].tolist() == [4, 6]
    assert dataset.filter(dataset["c"].contains("y") | (dataset["a"] < 1)).to_pandas_dataframe()["a"].tolist() == [0, 20]
    assert len(dataset.to_pandas_dataframe()) == 21
    with pytest.raises(UserErrorException, match="keep_columns: the table has no column 'q'; it has 'a', 'b', 'c'"):
        dataset.keep_columns("q", validate=True)
    with pytest.raises(UserErrorException, match="filter: the table has no column 'q'"):
        dataset.filter(dataset["q"] > 1).to_pandas_dataframe()


def test_times(store, tmp_path):
    put(store, tmp_path, {"a.csv": "t,v\n" + "".join("2020-01-%02d,%d\n" % (d, d) for d in range(1, 11))}, "ts")
    plain = Dataset.Tabular.from_delimited_files((store, "ts"))
    dataset = plain.with_timestamp_columns("t")
    assert dataset.timestamp_columns == ("t", None) and plain.timestamp_columns == (None, None)
    day = lambda d: datetime.datetime(2020, 1, d)  # noqa: E731
    days = lambda d: d.to_pandas_dataframe()["v"].tolist()  # noqa: E731
    assert days(dataset.time_before(day(3))) == [1, 2, 3] and days(dataset.time_before(day(3), include_boundary=False)) == [1, 2]
    assert days(dataset.time_after(day(9))) == [9, 10] and days(dataset.time_between(day(4), day(5))) == [4, 5]
    assert days(dataset.time_between(start_time=day(4), end_time=day(6), include_boundary=False)) == [5]
    assert days(dataset.time_recent(datetime.timedelta(days=1))) == [] and len(days(dataset.time_recent(datetime.timedelta(days=36500)))) == 10
    assert plain.with_timestamp_columns(fine_grain_timestamp="t").timestamp_columns == ("t", None)
    for gone in (plain, dataset.drop_columns("t"), dataset.keep_columns(["v"]), dataset.with_timestamp_columns(None)):
        with pytest.raises(DatasetTimestampMissingError, match="time_before needs a dataset with a timestamp column"):
            gone.time_before(day(1))
    with pytest.raises(UserErrorException, match="end_time must be a datetime"):
        dataset.time_before("2020")
    with pytest.raises(DatasetExecutionError, match="column 'x' has no times"):
        frame = pandas.DataFrame({"x": ["a"]})
        Dataset.Tabular.register_pandas_dataframe(frame, store, "bad_times", show_progress=False).with_timestamp_columns("x", validate=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        plain.with_timestamp_columns(other="t")


def test_frames_are_registered_whole(store, workspace):
    frame = pandas.DataFrame({"i": [1, 2, 3], "f": [0.1, None, 1 / 3], "b": [True, False, True], "s": ["a", "", None], "u": ["ü\n\"x\"", "1", "2020-01-01"],
                              "t": pandas.to_datetime(["2020-01-02 03:04:05.678901", None, "2021-01-01 00:00:00.0"])})
    dataset = TabularDatasetFactory.register_pandas_dataframe(frame, target=(store, "frames"), name="frame", show_progress=False)
    assert (dataset.name, dataset.version) == ("frame", 1)
    back = Dataset.get_by_name(workspace, "frame").to_pandas_dataframe()
    pandas.testing.assert_frame_equal(back, frame)
    assert Dataset.Tabular.register_pandas_dataframe(frame.iloc[:1], store, "frame", show_progress=False).version == 2
    with pytest.raises(UserErrorException, match="dataframe must be a pandas data frame"):
        Dataset.Tabular.register_pandas_dataframe([1], store, "x")
    with pytest.raises(UserErrorException, match="every column needs a name that is a text"):
        Dataset.Tabular.register_pandas_dataframe(pandas.DataFrame([[1]]), store, "x")


def test_tables_are_partitioned(store, tmp_path):
    put(store, tmp_path, {"a.csv": "c,n,v\nDE,1,10\nFR,2,20\nDE,1,30\n"}, "whole")
    dataset = Dataset.Tabular.from_delimited_files((store, "whole"))
    parts = dataset.partition_by(partition_keys=["c", "n"], target=(store, "parts"), name="parts", show_progress=False)
    assert parts.partition_keys == ["c", "n"] and parts.name == "parts"
    assert sorted(parts.to_pandas_dataframe().values.tolist()) == [["DE", 1, 10], ["DE", 1, 30], ["FR", 2, 20]]
    assert parts.get_partition_key_values(["c"])["c"].tolist() == ["DE", "FR"]
    files = dataset.partition_by("c", (store, "files"), show_progress=False, partition_as_file_dataset=True)
    assert len(files.to_path()) == 2 and files.partition_keys == ["c"]
    with pytest.raises(UserErrorException, match="partition_keys: the table has no column 'q'"):
        dataset.partition_by(["q"], (store, "q"))


def test_without_pandas(store, tmp_path, monkeypatch):
    import sys

    put(store, tmp_path, {"a.csv": "x\n1\n"}, "np")
    monkeypatch.setitem(sys.modules, "pandas", None)
    dataset = Dataset.Tabular.from_delimited_files((store, "np"))
    with pytest.raises(UserErrorException, match="to_pandas_dataframe needs pandas, which this Python does not have; install it with: pip install pandas"):
        dataset.to_pandas_dataframe()


def test_without_pyarrow(store, tmp_path, monkeypatch):
    import sys

    put(store, tmp_path, {"a.parquet": "PAR1"}, "pq")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserErrorException, match="reading Parquet files needs pyarrow"):
        Dataset.Tabular.from_parquet_files((store, "pq")).to_pandas_dataframe()


def test_what_comes_later(store, tmp_path):
    put(store, tmp_path, {"a.csv": "x\n1\n"}, "later")
    table = Dataset.Tabular.from_delimited_files((store, "later"))
    for call, what in ((table.to_spark_dataframe, "TabularDataset.to_spark_dataframe"), (table.get_profile, "TabularDataset.get_profile"),
                       (lambda: Dataset.Tabular.from_sql_query("q"), "Dataset.Tabular.from_sql_query"),
                       (lambda: Dataset.File.from_files((store, "later")).as_hdfs()._ferry_argument({}), "as_hdfs"),
                       (lambda: HDFSOutputDatasetConfig(destination=(store, "x"))._ferry_argument({}), "HDFSOutputDatasetConfig"),
                       (lambda: LinkTabularOutputDatasetConfig()._ferry_argument({}), "LinkTabularOutputDatasetConfig")):
        with pytest.raises(ScenarioNotSupportedException, match="^%s is not part of this version of Ferry yet." % what):
            call()


def test_a_server_that_went_away_leaves_nothing_half_done(own, outside, tmp_path, monkeypatch):
    monkeypatch.setenv("FERRY_URL", own.url)
    monkeypatch.setenv("FERRY_TOKEN", own.token)
    place = Workspace.get("default")
    store = Datastore.get_default(place)
    put(store, tmp_path, {"a.txt": "a" * 100_000, "b.txt": "b"}, "d")
    dataset = Dataset.File.from_files((store, "d"))
    entries = list(dataset._entries())
    place._client.patience = 0.2
    own.kill_server()
    for call in (lambda: dataset.download(tmp_path / "out"), lambda: _files.fetch_all(place, entries, str(tmp_path / "out"), False),
                 lambda: store.upload(tmp_path / "put", "e", show_progress=False), lambda: dataset.register(place, "d")):
        with pytest.raises(ServiceException):
            call()
    assert read_tree(tmp_path / "out") == {}


# Names and versions


def test_registration(store, workspace, tmp_path):
    put(store, tmp_path, {"a.csv": "x\n1\n", "b.csv": "x\n2\n"}, "reg")
    one = Dataset.Tabular.from_delimited_files((store, "reg/a.csv"))
    two = Dataset.Tabular.from_delimited_files((store, "reg/b.csv")).keep_columns("x")
    assert one.id is None and one.name is None and one.version is None
    first = one.register(workspace=workspace, name="numbers", description="some", tags={"k": 1})
    assert (first.name, first.version, first.description, first.tags) == ("numbers", 1, "some", {"k": "1"}) and first.id
    assert one.register(workspace, "numbers").version == 1
    with pytest.raises(UserErrorException, match='There is already a dataset registered under name "numbers". Specify `create_new_version=True`'):
        two.register(workspace, "numbers")
    assert two.register(workspace, "numbers", create_new_version=True).version == 2
    latest = Dataset.get_by_name(workspace, "numbers")
    assert latest.version == 2 and latest.to_pandas_dataframe()["x"].tolist() == [2]
    assert Dataset.get_by_name(workspace, "numbers", version=1).to_pandas_dataframe()["x"].tolist() == [1]
    assert Dataset.get_by_name(workspace, name="numbers", version="latest").id == latest.id == Dataset.get(workspace, name="numbers").id
    assert Dataset.get_by_id(workspace, id=first.id).to_pandas_dataframe()["x"].tolist() == [1]
    assert {name: item.version for name, item in Dataset.get_all(workspace).items()} == {"numbers": 2}
    latest.add_tags({"a": "b"})
    latest.update(description="other")
    assert Dataset.get_by_name(workspace, "numbers").tags == {"a": "b"} and latest.description == "other"
    latest.remove_tags(["a"])
    assert Dataset.get_by_name(workspace, "numbers").tags == {}
    assert '"name": "numbers"' in repr(latest)
    for call in (lambda: Dataset.get_by_name(workspace, "none"), lambda: Dataset.get_by_name(workspace, "numbers", 7),
                 lambda: Dataset.get_by_id(workspace, "00000000-0000-0000-0000-000000000000"), lambda: Dataset.get_by_name(workspace, "numbers", "new")):
        with pytest.raises(UserErrorException):
            call()
    latest.unregister_all_versions()
    with pytest.raises(UserErrorException, match="has no dataset 'numbers'"):
        Dataset.get_by_name(workspace, "numbers")
    assert Dataset.get_by_id(workspace, first.id).to_pandas_dataframe()["x"].tolist() == [1]


def test_datasets_are_not_made_by_hand():
    with pytest.raises(UserErrorException, match="Dataset.File.from_files"):
        Dataset()
    with pytest.raises(UserErrorException, match="Dataset.File.from_files"):
        FileDataset()


def test_older_ways(store, tmp_path):
    put(store, tmp_path, {"a.csv": "x\n1\n"}, "old")
    assert Dataset.auto_read_files(store.path("old/a.csv"), include_path=True).to_pandas_dataframe().values.tolist() == [["/old/a.csv", 1]]
    assert Dataset.Scenario.TRAINING == "training"


# Into runs


def test_inputs_of_runs(store, workspace, tmp_path):
    put(store, tmp_path, {"a.csv": "x\n1\n", "b.csv": "x\n2\n"}, "run")
    files, table = Dataset.File.from_files((store, "run")), Dataset.Tabular.from_delimited_files((store, "run"))
    submission = {}
    mounted = files.as_named_input("train").as_mount("here")
    assert mounted._ferry_argument(submission) == str(mounted) == "DatasetConsumptionConfig:train"
    assert table.as_named_input("table")._ferry_argument(submission) == "DatasetConsumptionConfig:table"
    data = submission["data"]
    where = [{"datastore": "workspaceblobstore", "path": "run"}]
    assert data["train"] == {"paths": where, "mode": "mount", "environment_variable": "train", "dataset": files.id, "path_on_compute": "here"}
    assert data["table"] == {"paths": where, "mode": "direct", "environment_variable": "table", "dataset": table.id}
    assert Dataset.get_by_id(workspace, files.id).to_path() == ["/a.csv", "/b.csv"]
    text = files.take(1).as_download()._ferry_argument(submission)
    name = text.partition(":")[2]
    assert name.startswith("input_") and data[name]["mode"] == "download" and data[name]["paths"] == [{"datastore": "workspaceblobstore", "path": "run/a.csv"}]
    assert DatasetConsumptionConfig("x", files, "mount").mode == "mount" and DatasetConsumptionConfig("x", files).as_download().mode == "download"
    assert files.as_mount().name != files.as_mount().name
    for call in (lambda: files.as_named_input("a b"), lambda: files.as_named_input("1a"), lambda: files.as_named_input("PATH"), lambda: DatasetConsumptionConfig("x", 5),
                 lambda: DatasetConsumptionConfig("x", files, "link"), lambda: table.as_named_input("t").as_mount()):
        with pytest.raises(UserErrorException):
            call()


def test_inputs_of_urls_are_kept_in_the_workspace_of_the_run(workspace, web, tmp_path):
    write_tree(tmp_path / "web", {"a.csv": "x\n1\n"})
    table = Dataset.Tabular.from_delimited_files(web + "/a.csv")
    submission = {"workspace": workspace.name}
    table.as_named_input("table")._ferry_argument(submission)
    kept = Dataset.get_by_id(workspace, submission["data"]["table"]["dataset"])
    assert kept.id == table.id and kept.to_pandas_dataframe()["x"].tolist() == [1]
    with pytest.raises(UserErrorException, match="the dataset belongs to no workspace: register it first"):
        Dataset.Tabular.from_delimited_files(web + "/a.csv").as_named_input("table")._ferry_argument({})


def test_inputs_inside_a_run(store, workspace, tmp_path, monkeypatch):
    put(store, tmp_path, {"a.csv": "x\n1\n"}, "inside")
    table = Dataset.Tabular.from_delimited_files((store, "inside")).register(workspace, "inside")
    for name, value in (("train", "/data/train"), ("table", table.id)):
        monkeypatch.setenv(name, value)
        monkeypatch.setenv("AZUREML_DATAREFERENCE_" + name, value)
    monkeypatch.setenv("AZUREML_DATAREFERENCE_result", "/data/out")
    inputs = _context.input_datasets(workspace)
    assert set(inputs) == {"train", "table"} and inputs["train"] == "/data/train" and len(inputs) == 2
    assert inputs["table"].to_pandas_dataframe()["x"].tolist() == [1] and inputs["table"] is inputs["table"]
    with pytest.raises(KeyError):
        inputs["other"]


def test_outputs_of_runs(store):
    submission = {}
    plain = OutputFileDatasetConfig()
    assert plain._ferry_argument(submission) == "DatasetOutputConfig:" + plain.name
    assert submission["outputs"][plain.name] == {"datastore": "workspaceblobstore", "path": "dataset/{run-id}/{output-name}", "mode": "mount", "overwrite": False}
    output = OutputFileDatasetConfig("result", destination=(store, "out/{run-id}"), source="made")
    changed = output.as_upload(overwrite=True, source_globs="*.csv").register_on_complete("results", description="d", tags={"k": "v"})
    assert changed is not output and output.mode == "mount"
    changed._ferry_argument(submission)
    assert submission["outputs"]["result"] == {
        "datastore": "workspaceblobstore", "path": "out/{run-id}", "mode": "upload", "overwrite": True, "path_on_compute": "made", "globs": ["*.csv"],
        "register": {"name": "results", "description": "d", "tags": {"k": "v"}}}
    table = OutputFileDatasetConfig("table", (store, "t")).read_delimited_files().drop_columns("x").register_on_complete("tables")
    table._ferry_argument(submission)
    registered = submission["outputs"].pop("table")["register"]
    assert (registered["name"], registered["type"], registered["steps"]) == ("tables", "Tabular", [{"op": "drop", "columns": ["x"]}])
    OutputFileDatasetConfig("table", (store, "t")).read_parquet_files().keep_columns(["x"])._ferry_argument(submission)
    assert submission["outputs"]["table"]["path"] == "t"
    with pytest.raises(UserErrorException, match="the output of another run, which only a pipeline can order"):
        output.as_input("in").as_download()._ferry_argument({})
    for call in (lambda: OutputFileDatasetConfig("a b"), lambda: OutputFileDatasetConfig(destination=5),
                 lambda: OutputFileDatasetConfig(destination=(store, "../x"))):
        with pytest.raises(UserErrorException):
            call()
