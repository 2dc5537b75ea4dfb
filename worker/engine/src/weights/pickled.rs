//! Values in the pickle of a state dict, and the few known names in it: no other is looked up or executed.

/// Reason why a pickle cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PickleError {
    #[error("damaged pickle: {0}")]
    Damaged(&'static str),
    #[error("damaged pickle: instruction {0:#04x}, which a state dict does not need")]
    Instruction(u8),
    /// A name that no state dict needs.
    #[error(
        "it asks to run `{module}.{name}`, and nothing in a checkpoint is run here: only tensors are read; save the \
         state dict alone, or convert it to safetensors"
    )]
    Runs { module: String, name: String },
}

/// A value in a pickle.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Tuples and lists.
    Sequence(Vec<Value>),
    /// Dictionaries, ordered or not.
    Pairs(Vec<(Value, Value)>),
    /// A known class or function.
    Name(Name),
    /// A storage, from a persistent id.
    Storage(Storage),
    Tensor(PickledTensor),
}

/// Names that a state dict refers to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Name {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    /// torch's class for storages of a kind, for example `FloatStorage`.
    StorageClass(String),
    /// One of torch's number formats, for example `bfloat16`.
    Dtype(String),
}

/// A run of numbers, stored elsewhere under a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Storage {
    pub(super) class: String,
    pub(super) key: String,
    pub(super) elements: i64,
}

/// A view of a storage, in elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PickledTensor {
    pub(super) storage: Storage,
    pub(super) offset: i64,
    pub(super) shape: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

/// Maximum nesting of values: a state dict has a handful of levels, and dropping a level needs stack.
const MAX_DEPTH: usize = 64;

/// Number of values in a value, itself included.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Sequence(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Pairs(pairs) => 1 + pairs.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>(),
        Value::Text(text) => 1 + text.len() / 64,
        Value::Tensor(tensor) => 1 + tensor.shape.len() + tensor.strides.len(),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Sequence(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Pairs(pairs) => 1 + pairs.iter().map(|(key, value)| depth(key).max(depth(value))).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the items unless their nesting is too deep.
pub(super) fn shallow(items: Vec<Value>) -> Result<Vec<Value>, PickleError> {
    match items.iter().all(|item| depth(item) < MAX_DEPTH) {
        true => Ok(items),
        false => Err(PickleError::Damaged("values are nested without end")),
    }
}

const DTYPES: [&str; 5] = ["float32", "float16", "bfloat16", "float64", "half"];

/// Returns the meaning of a name.
pub(super) fn known(module: &str, name: &str) -> Result<Name, PickleError> {
    match (module, name) {
        // The latter is a dictionary too, with InternLM's training configuration.
        ("collections", "OrderedDict") | ("internlm.core.context.config", "Config") => Ok(Name::OrderedDict),
        ("torch._utils", "_rebuild_tensor_v2") => Ok(Name::RebuildTensor),
        ("torch._utils", "_rebuild_parameter") => Ok(Name::RebuildParameter),
        ("torch", class) if class.ends_with("Storage") => Ok(Name::StorageClass(class.to_owned())),
        ("torch", name) if DTYPES.contains(&name) => Ok(Name::Dtype(name.to_owned())),
        _ => Err(PickleError::Runs { module: module.to_owned(), name: name.to_owned() }),
    }
}

/// Reads `("storage", class, key, device, elements)`.
pub(super) fn storage(id: Value) -> Result<Storage, PickleError> {
    let Value::Sequence(fields) = id else { return Err(PickleError::Damaged("a persistent id that is not a tuple")) };
    match fields.as_slice() {
        [Value::Text(tag), Value::Name(Name::StorageClass(class)), Value::Text(key), _, Value::Int(elements), ..]
            if tag == "storage" =>
        {
            Ok(Storage { class: class.clone(), key: key.clone(), elements: *elements })
        }
        _ => Err(PickleError::Damaged("a persistent id that is not a storage")),
    }
}

/// Calls a known function.
pub(super) fn built(call: Vec<Value>) -> Result<Value, PickleError> {
    let [Value::Name(name), Value::Sequence(arguments)] = call.as_slice() else {
        return Err(PickleError::Damaged("a call of a value that is not a function"));
    };
    match (name, arguments.as_slice()) {
        (Name::OrderedDict, []) => Ok(Value::Pairs(Vec::new())),
        (Name::RebuildParameter, [tensor @ Value::Tensor(_), ..]) => Ok(tensor.clone()),
        (Name::RebuildTensor, [Value::Storage(storage), Value::Int(offset), shape, strides, ..]) => {
            let tensor = PickledTensor {
                storage: storage.clone(),
                offset: *offset,
                shape: integers(shape)?,
                strides: integers(strides)?,
            };
            Ok(Value::Tensor(tensor))
        }
        _ => Err(PickleError::Damaged("a call with other arguments than torch.save writes")),
    }
}

fn integers(value: &Value) -> Result<Vec<i64>, PickleError> {
    let Value::Sequence(items) = value else { return Err(PickleError::Damaged("a shape that is not a tuple")) };
    let integer = |item: &Value| {
        if let Value::Int(value) = item { Ok(*value) } else { Err(PickleError::Damaged("a shape of no integers")) }
    };
    items.iter().map(integer).collect()
}
