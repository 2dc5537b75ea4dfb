//! Parquet files of texts, integers, truth values and lists of texts: one row group, one page for each column, nothing
//! compressed. The format is that of <https://parquet.apache.org/docs/file-format/>.

use compass_pyfmt::python_str;
use serde_json::Value;

const MAGIC: &[u8] = b"PAR1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Text,
    Texts,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_i64() => Self::Int,
            Value::Array(items) if items.iter().all(Value::is_string) => Self::Texts,
            _ => Self::Text,
        }
    }

    /// The number of the physical type.
    fn physical(self) -> i64 {
        match self {
            Self::Bool => 0,
            Self::Int => 2,
            Self::Text | Self::Texts => 6,
        }
    }
}

/// A column's page, with its header.
struct Column {
    name: String,
    kind: Kind,
    values: i64,
    bytes: Vec<u8>,
}

/// The file of `rows`, which have the keys and kinds of the first one.
pub(super) fn file(rows: &[Value]) -> Vec<u8> {
    let first = rows.first().and_then(Value::as_object).cloned().unwrap_or_default();
    let columns: Vec<Column> = first.iter().map(|(name, value)| column(name, Kind::of(value), rows)).collect();
    let mut file = MAGIC.to_vec();
    let mut chunks = Vec::new();
    for column in &columns {
        let (at, size) = (file.len() as i64, column.bytes.len() as i64);
        file.extend(&column.bytes);
        let mut path = vec![column.name.as_str()];
        path.extend(["list", "element"].iter().filter(|_| column.kind == Kind::Texts));
        let mut data = Struct::default();
        data.int(1, column.kind.physical());
        data.ints(2, &[0, 3]);
        data.texts(3, &path);
        data.int(4, 0);
        data.long(5, column.values);
        data.long(6, size);
        data.long(7, size);
        data.long(9, at);
        let mut chunk = Struct::default();
        chunk.long(2, at);
        chunk.inner(3, data);
        chunks.push(chunk);
    }
    let mut root = Struct::default();
    root.text(4, "schema");
    root.int(5, columns.len() as i64);
    let mut schema = vec![root];
    columns.iter().for_each(|column| element(&mut schema, column));
    let mut group = Struct::default();
    group.inners(1, chunks);
    group.long(2, file.len() as i64);
    group.long(3, rows.len() as i64);
    let mut footer = Struct::default();
    footer.int(1, 1);
    footer.inners(2, schema);
    footer.long(3, rows.len() as i64);
    footer.inners(4, vec![group]);
    let footer = footer.ended();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

/// Every value is there: nothing is optional but that a list may be empty.
fn element(schema: &mut Vec<Struct>, column: &Column) {
    let leaf = |name: &str| {
        let mut leaf = Struct::default();
        leaf.int(1, column.kind.physical());
        leaf.int(3, 0);
        leaf.text(4, name);
        if column.kind.physical() == 6 {
            leaf.int(6, 0);
        }
        leaf
    };
    if column.kind != Kind::Texts {
        schema.push(leaf(&column.name));
        return;
    }
    let mut list = Struct::default();
    list.int(3, 0);
    list.text(4, &column.name);
    list.int(5, 1);
    list.int(6, 3);
    let mut items = Struct::default();
    items.int(3, 2);
    items.text(4, "list");
    items.int(5, 1);
    schema.extend([list, items, leaf("element")]);
}

fn column(name: &str, kind: Kind, rows: &[Value]) -> Column {
    let mut data = Vec::new();
    let (mut begins, mut there) = (Vec::new(), Vec::new());
    let mut flags = Vec::new();
    for row in rows {
        let value = row.get(name).unwrap_or(&Value::Null);
        match kind {
            Kind::Bool => flags.push(value.as_bool().unwrap_or_default()),
            Kind::Int => data.extend(value.as_i64().unwrap_or_default().to_le_bytes()),
            Kind::Text => text(&mut data, &python_str(value)),
            Kind::Texts => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for (at, item) in items.iter().enumerate() {
                    begins.push(at == 0);
                    there.push(true);
                    text(&mut data, item.as_str().unwrap_or_default());
                }
                if items.is_empty() {
                    begins.push(true);
                    there.push(false);
                }
            }
        }
    }
    data.extend(bits(&flags));
    let values = if kind == Kind::Texts { there.len() } else { rows.len() };
    let mut page = Vec::new();
    if kind == Kind::Texts {
        // A repetition level is 0 where a row begins.
        levels(&mut page, &begins.iter().map(|begins| !begins).collect::<Vec<_>>());
        levels(&mut page, &there);
    }
    page.extend(data);
    let mut of_data = Struct::default();
    of_data.int(1, values as i64);
    of_data.int(2, 0);
    of_data.int(3, 3);
    of_data.int(4, 3);
    let mut header = Struct::default();
    header.int(1, 0);
    header.int(2, page.len() as i64);
    header.int(3, page.len() as i64);
    header.inner(5, of_data);
    let mut bytes = header.ended();
    bytes.extend(page);
    Column { name: name.to_owned(), kind, values: values as i64, bytes }
}

fn text(data: &mut Vec<u8>, text: &str) {
    data.extend((text.len() as u32).to_le_bytes());
    data.extend(text.as_bytes());
}

/// Levels of one bit, as one bit-packed run behind its length.
fn levels(page: &mut Vec<u8>, flags: &[bool]) {
    let packed = bits(flags);
    let mut run = Vec::new();
    varint(&mut run, (packed.len() as u64) << 1 | 1);
    run.extend(packed);
    page.extend((run.len() as u32).to_le_bytes());
    page.extend(run);
}

/// Eight in a byte, the first one lowest.
fn bits(flags: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag));
    flags.chunks(8).map(byte).collect()
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// A struct of Thrift's compact protocol.
#[derive(Debug, Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn int(&mut self, id: u8, value: i64) {
        self.field(id, 5);
        varint(&mut self.bytes, zigzag(value));
    }

    fn long(&mut self, id: u8, value: i64) {
        self.field(id, 6);
        varint(&mut self.bytes, zigzag(value));
    }

    fn text(&mut self, id: u8, text: &str) {
        self.field(id, 8);
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn list(&mut self, id: u8, kind: u8, length: usize) {
        self.field(id, 9);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    fn ints(&mut self, id: u8, values: &[i64]) {
        self.list(id, 5, values.len());
        values.iter().for_each(|value| varint(&mut self.bytes, zigzag(*value)));
    }

    fn texts(&mut self, id: u8, texts: &[&str]) {
        self.list(id, 8, texts.len());
        for text in texts {
            varint(&mut self.bytes, text.len() as u64);
            self.bytes.extend(text.as_bytes());
        }
    }

    fn inner(&mut self, id: u8, inner: Self) {
        self.field(id, 12);
        self.bytes.extend(inner.ended());
    }

    fn inners(&mut self, id: u8, inners: Vec<Self>) {
        self.list(id, 12, inners.len());
        inners.into_iter().for_each(|inner| self.bytes.extend(inner.ended()));
    }

    fn ended(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
