//! The bytes of a text file: decompressed where they are compressed, without a byte order mark.

use crate::error::DataError;
use compass_common::regular_file;
use compass_settings::ReadLimits;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const GZIP: &[u8] = b"\x1f\x8b";
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a regular file. Gzip is told by its first bytes, not by the name: some files are compressed twice, others not at all.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    let fault = |source| DataError::Read { path: path.into(), source };
    let file = regular_file::open(path).map_err(|error| open_fault(path, error))?;
    let mut plain = BufReader::with_capacity(1 << 16, file);
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

/// The whole of a file that must be held at once.
pub(crate) fn load(path: &Path, limits: ReadLimits) -> Result<Vec<u8>, DataError> {
    let (most, mut bytes) = (limits.document_bytes(), Vec::new());
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|error| read_fault(path, error))?;
    if bytes.len() as u64 > most {
        let reason = format!(
            "the document is longer than {} MB: raise `max_document_mb` of the split, or write one object a line (jsonl)",
            limits.document_mb
        );
        return Err(DataError::Unsupported { path: path.into(), reason });
    }
    Ok(bytes)
}

/// Describes the fault of a line or a record that nothing ends.
pub(crate) fn line_too_long(limits: ReadLimits) -> String {
    format!("the line is longer than {} MB: raise `max_line_mb` of the split, if it is meant to be", limits.line_mb)
}

/// Makes the error of a file that cannot be opened: something else than a regular file is never read.
pub(crate) fn open_fault(path: &Path, error: io::Error) -> DataError {
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            DataError::Unsupported { path: path.into(), reason: format!("{error}: copy what it holds to a file") }
        }
        _ => DataError::Read { path: path.into(), source: error },
    }
}

/// Makes the error of a failed read of an open file: of plain files the disk is to blame, of compressed ones the file.
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
