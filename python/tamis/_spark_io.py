"""Models on the storage of Spark: parameters in ``path/metadata``, the program's own model file in ``path/model``."""

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLWritable, MLWriter

from .errors import ModelError


class Writer(MLWriter):
    """Writes a model."""

    def __init__(self, instance):
        super().__init__()
        self.instance = instance

    def save(self, path: str) -> None:
        """Writes the model to a folder; ``overwrite`` allows that it exists."""
        spark, mode = self.sparkSession, "overwrite" if self.shouldOverwrite else "error"
        metadata = DefaultParamsWriter._get_metadata_to_save(self.instance, spark)
        # One row is the whole file: its lines are the lines of the model.
        for folder, text in (("metadata", metadata), ("model", self.instance._text.rstrip("\n"))):
            frame = spark.createDataFrame([(text,)], "value string")
            frame.coalesce(1).write.mode(mode).text(f"{path}/{folder}")
        raw = getattr(self.instance, "_moments", None)
        if raw is not None:
            pieces = [(at, bytearray(raw[at : at + PIECE])) for at in range(0, len(raw), PIECE)]
            frame = spark.createDataFrame(pieces, "at long, raw binary")
            frame.coalesce(1).write.mode(mode).parquet(f"{path}/moments")


# Bytes of a cell: large cells are slow.
PIECE = 1 << 24


class Reader(DefaultParamsReader):
    """Reads a model."""

    def load(self, path: str):
        """The model in a folder."""
        spark = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        expected, found = f"{self.cls.__module__}.{self.cls.__name__}", metadata["class"]
        if found != expected:
            raise ModelError(f"{path} has a {found}, not a {expected}")
        lines = spark.read.text(f"{path}/model", wholetext=True).collect()
        if len(lines) != 1:
            raise ModelError(f"{path}/model must have one file, found {len(lines)}")
        instance = self.cls(lines[0][0])
        if hasattr(instance, "_moments"):
            pieces = spark.read.parquet(f"{path}/moments").orderBy("at").collect()
            instance._moments = b"".join(bytes(piece["raw"]) for piece in pieces)
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


class Writable(MLWritable):
    """A model that can be saved."""

    def write(self) -> Writer:
        """A writer of this model."""
        return Writer(self)


class Readable(MLReadable):
    """A model that can be loaded."""

    @classmethod
    def read(cls) -> Reader:
        """A reader of such models."""
        return Reader(cls)
