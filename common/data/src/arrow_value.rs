//! A value of an Arrow array as JSON: what `to_pylist` of Python's pyarrow gives, as far as JSON has it.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_date;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, TimeUnit};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use serde_json::Value;

/// The value at `at`: lists are arrays, structs objects in the order of their fields, integers stay integers, a float
/// that is not a number is null, dates and times are the texts that Python prints.
///
/// # Errors
/// In words: bytes, and types that data sets do not use.
pub(crate) fn value(array: &dyn Array, at: usize) -> Result<Value, String> {
    if array.is_null(at) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(at).into(),
        DataType::Int8 => native::<Int8Type>(array, at).into(),
        DataType::Int16 => native::<Int16Type>(array, at).into(),
        DataType::Int32 => native::<Int32Type>(array, at).into(),
        DataType::Int64 => native::<Int64Type>(array, at).into(),
        DataType::UInt8 => native::<UInt8Type>(array, at).into(),
        DataType::UInt16 => native::<UInt16Type>(array, at).into(),
        DataType::UInt32 => native::<UInt32Type>(array, at).into(),
        DataType::UInt64 => native::<UInt64Type>(array, at).into(),
        DataType::Float16 => f64::from(native::<Float16Type>(array, at)).into(),
        DataType::Float32 => f64::from(native::<Float32Type>(array, at)).into(),
        DataType::Float64 => native::<Float64Type>(array, at).into(),
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).into(),
        DataType::Utf8View => array.as_string_view().value(at).into(),
        DataType::List(_) => list(array.as_list::<i32>().value(at).as_ref())?,
        DataType::LargeList(_) => list(array.as_list::<i64>().value(at).as_ref())?,
        DataType::FixedSizeList(_, _) => list(array.as_fixed_size_list().value(at).as_ref())?,
        DataType::Struct(_) => object(array.as_struct(), at)?,
        DataType::Map(_, _) => list(&array.as_map().value(at))?,
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys().get(at).copied().unwrap_or_default();
            value(dictionary.values().as_ref(), key)?
        }
        DataType::Date32 => date::<Date32Type>(native::<Date32Type>(array, at)),
        DataType::Date64 => date::<Date64Type>(native::<Date64Type>(array, at)),
        DataType::Timestamp(unit, zone) => {
            let time = match unit {
                TimeUnit::Second => Timestamp::from_second(native::<TimestampSecondType>(array, at)),
                TimeUnit::Millisecond => Timestamp::from_millisecond(native::<TimestampMillisecondType>(array, at)),
                TimeUnit::Microsecond => Timestamp::from_microsecond(native::<TimestampMicrosecondType>(array, at)),
                TimeUnit::Nanosecond => {
                    Timestamp::from_nanosecond(i128::from(native::<TimestampNanosecondType>(array, at)))
                }
            };
            let time = time.map_err(|_| "holds a time beyond the year 9999")?;
            time_text(time, zone.as_deref())?.into()
        }
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) | DataType::BinaryView => {
            return Err("holds bytes, which no prompt can show: name it in `drop_columns`".into());
        }
        other => return Err(format!("the type {other} is not read: name it in `drop_columns`")),
    })
}

fn native<T: ArrowPrimitiveType>(array: &dyn Array, at: usize) -> T::Native {
    array.as_primitive::<T>().value(at)
}

fn list(items: &dyn Array) -> Result<Value, String> {
    (0..items.len()).map(|at| value(items, at)).collect()
}

fn object(fields: &StructArray, at: usize) -> Result<Value, String> {
    let columns = fields.column_names().into_iter().zip(fields.columns());
    let entries = columns.map(|(name, column)| Ok((name.to_owned(), value(column.as_ref(), at)?)));
    entries.collect::<Result<serde_json::Map<_, _>, String>>().map(Value::Object)
}

fn date<T: ArrowPrimitiveType>(days: T::Native) -> Value
where
    i64: From<T::Native>,
{
    as_date::<T>(i64::from(days)).map_or(Value::Null, |date| date.to_string().into())
}

/// As Python's `str` prints a `datetime`: a time with a zone in that zone, with its offset from UTC.
///
/// # Errors
/// In words: the zone is unknown.
fn time_text(time: Timestamp, zone: Option<&str>) -> Result<String, String> {
    let form = if time.subsec_nanosecond() / 1_000 == 0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S%.6f" };
    let Some(zone) = zone else { return Ok(time.strftime(form).to_string()) };
    let unknown = |_| format!("the time zone `{zone}` is unknown on this host: install tzdata");
    let known = match (zone, fixed_offset(zone)) {
        ("UTC", _) => TimeZone::UTC,
        (_, Some(offset)) => TimeZone::fixed(offset),
        (name, None) => TimeZone::get(name).map_err(unknown)?,
    };
    Ok(time.to_zoned(known).strftime(&format!("{form}%:z")).to_string())
}

/// The offset that `+05:30` or `-0800` writes; `None` for the name of a zone.
fn fixed_offset(zone: &str) -> Option<Offset> {
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone.strip_prefix(['+', '-'])?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i32>().ok()? };
    Offset::from_seconds(sign * (hours.parse::<i32>().ok()? * 60 + minutes) * 60).ok()
}
