//! The bytes of a text file: decompressed where they are compressed, without a byte order mark.

use crate::error::DataError;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const GZIP: &[u8] = b"\x1f\x8b";
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a file. Gzip is told by its first bytes, not by the name: some files are compressed twice, others not at all.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    let fault = |source| DataError::Read { path: path.into(), source };
    let mut plain = BufReader::with_capacity(1 << 16, File::open(path).map_err(fault)?);
    let is_gzip = plain.fill_buf().map_err(fault)?.starts_with(GZIP);
    let mut reader: Box<dyn BufRead> =
        if is_gzip { Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(plain))) } else { Box::new(plain) };
    let start = reader.fill_buf().map_err(|error| read_fault(path, error))?;
    if UTF_16.iter().any(|mark| start.starts_with(mark)) {
        let reason = "it is UTF-16; save it as UTF-8, as with `iconv -f UTF-16 -t UTF-8`".into();
        return Err(DataError::Damaged { path: path.into(), reason });
    }
    let has_mark = start.starts_with(BYTE_ORDER_MARK);
    if has_mark {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    Ok(reader)
}

/// The whole of a file.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| read_fault(path, error))?;
    Ok(bytes)
}

/// What a failed read of an open file means: of plain files the disk is to blame, of compressed ones the file.
pub(crate) fn read_fault(path: &Path, error: io::Error) -> DataError {
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the gzip stream ends early: the file is cut off; copy or download it again",
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            "the gzip stream is damaged; copy or download the file again"
        }
        _ => return DataError::Read { path: path.into(), source: error },
    };
    DataError::Damaged { path: path.into(), reason: reason.into() }
}
