//! A value of an Arrow array as JSON: what `to_pylist` of Python's pyarrow gives, as far as JSON has it.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, TimeUnit};
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
        DataType::Timestamp(TimeUnit::Second, _) => time::<TimestampSecondType>(array, at),
        DataType::Timestamp(TimeUnit::Millisecond, _) => time::<TimestampMillisecondType>(array, at),
        DataType::Timestamp(TimeUnit::Microsecond, _) => time::<TimestampMicrosecondType>(array, at),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => time::<TimestampNanosecondType>(array, at),
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

/// As Python's `str` prints a `datetime`, in UTC.
fn time<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, at: usize) -> Value {
    let Some(time) = as_datetime::<T>(native::<T>(array, at)) else { return Value::Null };
    let is_whole = time.and_utc().timestamp_subsec_micros() == 0;
    let format = if is_whole { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S%.6f" };
    time.format(format).to_string().into()
}
