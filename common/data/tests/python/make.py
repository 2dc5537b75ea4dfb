"""Writes the files of this folder: tables as Python's libraries write them, and what these libraries read back.

Run with pyarrow installed (26.0.1 was used): `python make.py`, in this folder.
"""

import csv
import datetime
import json

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

# Nested columns as data sets have them: choices with labels (ARC), answers (SQuAD), options (AGIEval).
ROWS = [
    {
        "id": "q1",
        "question": "Which is largest?",
        "choices": {"text": ["a mouse", "an elephant", "a cat"], "label": ["A", "B", "C"]},
        "answers": [{"text": "an elephant", "start": 0}, {"text": "elephant", "start": 3}],
        "label": 1,
        "big": 2**53 + 1,
        "score": 0.1,
        "single": 0.1,
        "flag": True,
        "day": datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 12, 30, 1, 500000),
        "kind": "animal",
        "matrix": [[1, 2], [], [3]],
    },
    {
        "id": "q2",
        "question": "多行\n问题 \ufeff\u2028 end",
        "choices": {"text": [], "label": []},
        "answers": [],
        "label": -3,
        "big": None,
        "score": -1e-300,
        "single": None,
        "flag": False,
        "day": None,
        "at": None,
        "kind": "text",
        "matrix": None,
    },
    {
        "id": "q3",
        "question": "",
        "choices": None,
        "answers": None,
        "label": 0,
        "big": -(2**63),
        "score": 1e22,
        "single": 3.5,
        "flag": None,
        "day": datetime.date(1969, 12, 31),
        "at": datetime.datetime(1969, 12, 31, 23, 59, 59),
        "kind": "animal",
        "matrix": [[4]],
    },
]

SCHEMA = pa.schema(
    [
        ("id", pa.large_string()),
        ("question", pa.string()),
        ("choices", pa.struct([("text", pa.list_(pa.string())), ("label", pa.list_(pa.string()))])),
        ("answers", pa.list_(pa.struct([("text", pa.string()), ("start", pa.int32())]))),
        ("label", pa.int64()),
        ("big", pa.int64()),
        ("score", pa.float64()),
        ("single", pa.float32()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("matrix", pa.large_list(pa.list_(pa.int16()))),
    ]
)

CSV = (
    "question,answer,note\r\n"
    'plain,1,\r\n'
    '"two\nlines, one comma","say ""yes""",x\r\n'
    "\r\n"
    'a"b,"c"d,"e" f\n'
    ' spaced , "not quoted" ,\ufeff\u2028\n'
    "last,,"
)


def main():
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    for codec in ["snappy", "zstd", "gzip", "none"]:
        pq.write_table(table, f"nested_{codec}.parquet", compression=codec, row_group_size=2)
    with ipc.new_stream("nested_stream.arrow", SCHEMA) as writer:
        writer.write_table(table, max_chunksize=2)
    with ipc.new_file("nested_file.arrow", SCHEMA) as writer:
        writer.write_table(table)
    image = pa.table({"id": [1, 2], "image": [b"\x89PNG", b"\xff"]})
    pq.write_table(image, "bytes.parquet")
    with open("nested.json", "w", encoding="utf-8") as file:
        json.dump(table.to_pylist(), file, default=str, indent=1)
    with open("quoted.csv", "w", encoding="utf-8", newline="") as file:
        file.write(CSV)
    with open("quoted.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with open("quoted.json", "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
