//! A level as calls of variable-length attention.
//!
//! Bits: a kernel for one row of each sequence divides the keys among processors if there are few sequences, so that its
//! sums depend on their number. Rows that are decoded therefore have their own call with a minimum number of
//! sequences, and every other call declares sequences of two rows at least, for which no kernel divides keys.

use super::Level;
use super::varlen_calls::{VarlenCall, VarlenOnDevice};
use crate::kernels::Kernels;
use std::rc::Rc;
use tch::{Device, Kind, TchError};

impl Level {
    /// Returns the calls of the level for `rows` rows; a call of decoded rows has at least `least` sequences.
    pub(crate) fn varlen(&self, rows: i64, least: i64) -> Vec<VarlenCall> {
        let decoded = self.spans.iter().take_while(|span| span.decodes).count();
        let (first, others) = self.spans.split_at(decoded);
        let mut calls = Vec::new();
        let mut at = 0;
        if !first.is_empty() {
            let mut call = VarlenCall::begin(0);
            for span in first {
                call.push(span.rows, (span.start, span.used));
                at += span.rows;
            }
            if others.is_empty() {
                // Rows that pad the pass serve as sequences.
                (at..rows).for_each(|_| call.push(1, (0, 0)));
                at = rows;
            }
            for _ in call.used.len() as i64..least {
                call.add();
            }
            calls.push(call.end());
        }
        if at < rows {
            let mut call = VarlenCall::begin(at);
            for span in others {
                if span.first > at {
                    call.push(span.first - at, (0, 0));
                }
                call.push(span.rows, (span.start, span.used));
                at = span.first + span.rows;
            }
            if rows > at {
                call.push(rows - at, (0, 0));
            }
            call.most_rows = call.most_rows.max(2);
            calls.push(call.end());
        }
        calls
    }

    /// Returns the calls with their lists on `device`: one copy for each call of the pass.
    pub(crate) fn varlen_on(
        &self,
        kernels: &dyn Kernels,
        (rows, least): (i64, i64),
        device: Device,
    ) -> Result<Rc<Vec<VarlenOnDevice>>, TchError> {
        if let Some(calls) = self.calls.0.borrow().as_ref() {
            return Ok(Rc::clone(calls));
        }
        let on_device = |call: VarlenCall| -> Result<VarlenOnDevice, TchError> {
            let lists = [call.begins.as_slice(), &call.starts, &call.used].concat();
            let lists = kernels.to_device(&lists, device)?.f_to_kind(Kind::Int)?;
            let (begins, starts) = (call.begins.len() as i64, call.starts.len() as i64);
            let part = |first, length| lists.f_narrow(0, first, length);
            Ok(VarlenOnDevice {
                begins: part(0, begins)?,
                starts: part(begins, starts)?,
                used: part(begins + starts, call.used.len() as i64)?,
                call,
            })
        };
        let calls = self.varlen(rows, least).into_iter().map(on_device).collect::<Result<Vec<_>, TchError>>()?;
        let calls = Rc::new(calls);
        *self.calls.0.borrow_mut() = Some(Rc::clone(&calls));
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    fn level(causal: bool, spans: &[(i64, i64, i64, i64, bool)]) -> Level {
        let span = |&(first, rows, start, used, decodes): &(i64, i64, i64, i64, bool)| Span {
            first,
            rows,
            start,
            used,
            alone: false,
            decodes,
        };
        Level { spans: spans.iter().map(span).collect(), causal, ..Level::default() }
    }

    #[test]
    fn gaps_and_padding_see_nothing() {
        let calls = level(false, &[(2, 5, 40, 30, false), (9, 1, 7, 3, false)]).varlen(12, 4);
        let [call] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!((call.first, call.rows, call.added, call.most_rows, call.most_keys), (0, 12, 0, 5, 30));
        assert_eq!(call.begins, [0, 2, 7, 9, 10, 12]);
        assert_eq!((call.starts.as_slice(), call.used.as_slice()), (&[0, 40, 0, 7, 0, 0][..], &[0, 30, 0, 3, 0][..]));
        assert!(call.has_blind_rows);
        let calls = level(true, &[(0, 1, 40, 30, false)]).varlen(1, 4);
        assert_eq!((calls[0].most_rows, calls[0].has_blind_rows), (2, false), "no kernel for single rows");
    }

    #[test]
    fn decoded_rows_are_a_call_of_enough_sequences() {
        let decoded = [(0, 1, 5, 9, true), (1, 1, 50, 2, true)];
        let calls = level(true, &decoded).varlen(4, 6);
        let [call] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!((call.rows, call.added, call.most_rows), (4, 2, 1));
        assert_eq!(
            (call.begins.as_slice(), call.used.as_slice()),
            (&[0, 1, 2, 3, 4, 5, 6][..], &[9, 2, 0, 0, 0, 0][..])
        );
        let mixed = [decoded[0], decoded[1], (2, 7, 90, 7, false)];
        let calls = level(true, &mixed).varlen(10, 3);
        let [one, two] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!((one.first, one.rows, one.added, one.has_blind_rows), (0, 2, 1, false));
        assert_eq!((two.first, two.rows, two.added, two.most_rows), (2, 8, 0, 7));
        assert_eq!((two.begins.as_slice(), two.used.as_slice()), (&[0, 7, 8][..], &[7, 0][..]));
    }
}
