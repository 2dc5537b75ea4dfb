//! Reads pickles of state dicts written by `torch.save`, without executing anything: the few names that occur in them
//! are known here, and any other is an error.

use super::pickled::{PickleError, Value, built, known, shallow, size, storage};

/// Reads the pickle at the start of `bytes`; returns what it builds, and its length.
///
/// # Errors
/// The pickle is damaged, or asks for more than a state dict needs.
pub(super) fn read(bytes: &[u8]) -> Result<(Value, usize), PickleError> {
    let budget = bytes.len().saturating_mul(16).saturating_add(1 << 16);
    let mut machine = Machine { bytes, at: 0, stack: Vec::new(), marks: Vec::new(), memo: Vec::new(), budget };
    loop {
        if let Some(value) = machine.step()? {
            return Ok((value, machine.at));
        }
    }
}

/// Pickle's stack machine (Python's `pickletools` describes every instruction).
struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    /// Number of values that memo and references may still copy: a few instructions can ask for more copies than memory
    /// holds.
    budget: usize,
}

impl<'a> Machine<'a> {
    /// Runs one instruction; returns the value if it was the last.
    fn step(&mut self) -> Result<Option<Value>, PickleError> {
        match self.byte()? {
            b'.' => return self.pop().map(Some),
            0x80 => {
                self.byte()?;
            }
            0x95 => {
                self.take(8)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.stack.push(Value::Int(i64::from(value)));
            }
            b'K' => {
                let value = self.byte()?;
                self.stack.push(Value::Int(i64::from(value)));
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.stack.push(Value::Int(i64::from(value)));
            }
            0x8a => {
                let length = usize::from(self.byte()?);
                let value = long(self.take(length)?);
                self.stack.push(Value::Int(value));
            }
            b'G' => {
                let value = f64::from_be_bytes(self.array()?);
                self.stack.push(Value::Float(value));
            }
            b'X' => {
                let length = self.length()?;
                self.text(length)?;
            }
            0x8c => {
                let length = usize::from(self.byte()?);
                self.text(length)?;
            }
            b')' | b']' => self.stack.push(Value::Sequence(Vec::new())),
            b'}' => self.stack.push(Value::Pairs(Vec::new())),
            b't' | b'l' => {
                let items = self.since_mark()?;
                self.stack.push(Value::Sequence(shallow(items)?));
            }
            count @ 0x85..=0x87 => {
                let items = self.pop_many(usize::from(count - 0x84))?;
                self.stack.push(Value::Sequence(shallow(items)?));
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.since_mark()?;
                self.append(items)?;
            }
            b's' => {
                let pair = self.pop_many(2)?;
                self.set_items(pair)?;
            }
            b'u' => {
                let pairs = self.since_mark()?;
                self.set_items(pairs)?;
            }
            b'q' => {
                let place = usize::from(self.byte()?);
                self.remember(place)?;
            }
            b'r' => {
                let place = self.length()?;
                self.remember(place)?;
            }
            0x94 => self.remember(self.memo.len())?,
            b'h' => {
                let place = usize::from(self.byte()?);
                self.recall(place)?;
            }
            b'j' => {
                let place = self.length()?;
                self.recall(place)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.stack.push(Value::Name(known(&module, &name)?));
            }
            0x93 => match self.pop_many(2)?.as_slice() {
                [Value::Text(module), Value::Text(name)] => self.stack.push(Value::Name(known(module, name)?)),
                _ => return Err(PickleError::Damaged("a name that is not text")),
            },
            b'Q' => {
                let id = self.pop()?;
                self.stack.push(Value::Storage(storage(id)?));
            }
            b'R' | 0x81 => {
                let call = self.pop_many(2)?;
                self.stack.push(built(call)?);
            }
            // Attributes of an object, such as the version notes of a state dict: not needed here.
            b'b' => {
                self.pop()?;
            }
            b'0' => {
                self.pop()?;
            }
            other => return Err(PickleError::Instruction(other)),
        }
        Ok(None)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], PickleError> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(PickleError::Damaged("an end before its last instruction: it is cut short"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        self.take(N)?.try_into().map_err(|_| PickleError::Damaged("an end before its last instruction"))
    }

    fn byte(&mut self) -> Result<u8, PickleError> {
        self.array().map(|[byte]| byte)
    }

    fn length(&mut self) -> Result<usize, PickleError> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn line(&mut self) -> Result<String, PickleError> {
        let rest = &self.bytes[self.at..];
        let length =
            rest.iter().position(|&byte| byte == b'\n').ok_or(PickleError::Damaged("a line without an end"))?;
        let line = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.byte()?;
        Ok(line)
    }

    fn text(&mut self, length: usize) -> Result<(), PickleError> {
        let text =
            std::str::from_utf8(self.take(length)?).map_err(|_| PickleError::Damaged("a text that is not UTF-8"))?;
        self.stack.push(Value::Text(text.to_owned()));
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(PickleError::Damaged("an instruction without its operands"));
        }
        self.stack.pop().ok_or(PickleError::Damaged("an instruction without its operands"))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value>, PickleError> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        Ok(items)
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, PickleError> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len());
        Ok(self.stack.split_off(mark.ok_or(PickleError::Damaged("a list without a start"))?))
    }

    fn append(&mut self, items: Vec<Value>) -> Result<(), PickleError> {
        match self.stack.last_mut() {
            Some(Value::Sequence(list)) => list.extend(shallow(items)?),
            _ => return Err(PickleError::Damaged("items for a value that is not a list")),
        }
        Ok(())
    }

    fn set_items(&mut self, items: Vec<Value>) -> Result<(), PickleError> {
        let Some(Value::Pairs(pairs)) = self.stack.last_mut() else {
            return Err(PickleError::Damaged("items for a value that is not a dictionary"));
        };
        let mut items = shallow(items)?.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            pairs.push((key, value));
        }
        Ok(())
    }

    fn remember(&mut self, place: usize) -> Result<(), PickleError> {
        // A memo has at most as many entries as earlier instructions built.
        if place > self.at {
            return Err(PickleError::Damaged("a memo index out of range"));
        }
        let (value, spent) = self.copied(self.stack.last().ok_or(PickleError::Damaged("a memo of an empty stack"))?)?;
        self.budget -= spent;
        if self.memo.len() <= place {
            self.memo.resize(place + 1, None);
        }
        self.memo[place] = Some(value);
        Ok(())
    }

    fn recall(&mut self, place: usize) -> Result<(), PickleError> {
        let noted = self
            .memo
            .get(place)
            .and_then(Option::as_ref)
            .ok_or(PickleError::Damaged("a reference to an empty memo"))?;
        let (value, spent) = self.copied(noted)?;
        self.budget -= spent;
        self.stack.push(value);
        Ok(())
    }

    /// Copies a value and returns the number of values, which the budget must cover.
    fn copied(&self, value: &Value) -> Result<(Value, usize), PickleError> {
        let size = size(value);
        if size > self.budget {
            return Err(PickleError::Damaged("more references than a checkpoint has"));
        }
        Ok((value.clone(), size))
    }
}

/// Reads a little-endian number in two's complement; truncated to 64 bits, which only affects a magic number.
fn long(bytes: &[u8]) -> i64 {
    let sign = if bytes.last().is_some_and(|&top| top >= 0x80) { 0xff } else { 0 };
    let mut wide = [sign; 8];
    let length = bytes.len().min(8);
    wide[..length].copy_from_slice(&bytes[..length]);
    i64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values() {
        // pickle.dumps({"a": [1, -2, 70000, True, None, 1.5], "b": (2**40,)}, protocol=2)
        let bytes = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffJp\x11\x01\x00\x88NG?\xf8\x00\x00\x00\x00\x00\x00eX\x01\x00\x00\x00bq\x03\x8a\x06\x00\x00\x00\x00\x00\x01\x85q\x04u.tail";
        let text = |text: &str| Value::Text(text.to_owned());
        let list =
            vec![Value::Int(1), Value::Int(-2), Value::Int(70_000), Value::Bool(true), Value::None, Value::Float(1.5)];
        let expected = Value::Pairs(vec![
            (text("a"), Value::Sequence(list)),
            (text("b"), Value::Sequence(vec![Value::Int(1 << 40)])),
        ]);
        assert_eq!(read(bytes).unwrap(), (expected, bytes.len() - 4));
        for length in 0..bytes.len() - 4 {
            assert!(matches!(read(&bytes[..length]).unwrap_err(), PickleError::Damaged(_)), "{length} bytes");
        }
    }

    #[test]
    fn nothing_is_executed() {
        let message = read(b"cos\nsystem\n(X\x04\x00\x00\x00truetR.").unwrap_err().to_string();
        assert!(message.contains("`os.system`") && message.contains("safetensors"), "{message}");
        let message = read(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.").unwrap_err();
        let (module, name) = ("builtins".to_owned(), "eval".to_owned());
        assert_eq!(message, PickleError::Runs { module, name });
    }

    #[test]
    fn depth_and_copies_are_limited() {
        let mut deep = b"\x80\x02".to_vec();
        deep.extend(b"]".repeat(100_000));
        deep.extend(b"a".repeat(100_000));
        assert!(read(&deep).unwrap_err().to_string().contains("without end"));
        let mut doubled = b"\x80\x02K\x01q\x00".to_vec();
        (0..64).for_each(|_| doubled.extend(b"h\x00h\x00\x86q\x00"));
        assert!(read(&doubled).unwrap_err().to_string().contains("more references"));
    }

    #[test]
    fn any_damaged_byte_is_handled() {
        let bytes = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01K\x02eu.";
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut wrong = bytes.to_vec();
                wrong[place] = value;
                // It may return anything, but must end without a panic.
                let _ = read(&wrong);
            }
        }
    }
}
