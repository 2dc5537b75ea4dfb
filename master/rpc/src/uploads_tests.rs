//! The order in which uploads are admitted, and when room is freed: by an injected clock.

use super::*;

fn from(worker: &str) -> Uploader {
    Uploader { worker: worker.into(), session: format!("{worker}-1") }
}

/// Content of `megabytes`, different for every `mark`.
fn content(megabytes: usize, mark: u8) -> Vec<u8> {
    vec![mark; megabytes * 1024 * 1024]
}

/// A whole upload.
fn put(uploads: &Uploads, worker: &str, dial: u64, bytes: &[u8], now: Instant) -> Result<(), UploadError> {
    uploads.reserve(&from(worker), dial, Digest::of(bytes), bytes.len() as u64, now)?.fill(bytes.to_vec(), now)
}

/// Four workers that fill all the room; the fifth finds none.
fn full(now: Instant) -> (Uploads, Vec<u8>) {
    let (uploads, large) = (Uploads::default(), content(64, 1));
    for worker in ["a", "b", "c", "d"] {
        put(&uploads, worker, 1, &large, now).unwrap();
    }
    assert_eq!(put(&uploads, "e", 1, &large, now), Err(UploadError::Full));
    (uploads, large)
}

#[test]
fn what_a_frame_takes_is_free_again_and_belongs_to_its_owner_alone() {
    let now = Instant::now();
    let (uploads, large) = full(now);
    let digest = Digest::of(&large);
    assert_eq!(uploads.take(&from("e"), &digest), None, "it is another's");
    assert_eq!(uploads.take(&from("a"), &digest), Some(large.clone()));
    assert_eq!(uploads.take(&from("a"), &digest), None);
    put(&uploads, "e", 1, &large, now).unwrap();
}

#[test]
fn the_uploads_of_a_worker_that_left_are_freed_with_its_session() {
    let now = Instant::now();
    let (uploads, large) = full(now);
    uploads.session_ended(&Uploader { session: "another".into(), ..from("a") }, 9);
    assert_eq!(put(&uploads, "e", 1, &large, now), Err(UploadError::Full));
    uploads.session_ended(&from("a"), 1);
    put(&uploads, "e", 1, &large, now).unwrap();
}

#[test]
fn what_no_frame_takes_is_freed_after_a_minute() {
    let now = Instant::now();
    let (uploads, large) = full(now);
    let early = now + KEPT - Duration::from_millis(1);
    assert_eq!(put(&uploads, "e", 1, &large, early), Err(UploadError::Full));
    put(&uploads, "e", 1, &large, now + KEPT).unwrap();
    assert_eq!(uploads.take(&from("a"), &Digest::of(&large)), None);
}

#[test]
fn room_is_given_in_the_order_in_which_it_was_asked_for() {
    let now = Instant::now();
    let (uploads, large) = full(now);
    let small = content(1, 2);
    // It would fit in nowhere yet, and does not overtake the one that waits once it would.
    assert_eq!(put(&uploads, "f", 1, &small, now), Err(UploadError::Full));
    uploads.session_ended(&from("a"), 1);
    assert_eq!(put(&uploads, "f", 1, &small, now), Err(UploadError::Full));
    put(&uploads, "e", 1, &large, now).unwrap();
    assert_eq!(put(&uploads, "f", 1, &small, now), Err(UploadError::Full), "there is no room");
    uploads.session_ended(&from("b"), 1);
    put(&uploads, "f", 1, &small, now).unwrap();
}

#[test]
fn the_turn_of_one_that_does_not_come_again_is_over() {
    let now = Instant::now();
    let (uploads, _) = full(now);
    uploads.session_ended(&from("a"), 1);
    let small = content(1, 2);
    assert_eq!(put(&uploads, "f", 1, &small, now), Err(UploadError::Full));
    put(&uploads, "f", 1, &small, now + TURN).unwrap();
}

#[test]
fn a_session_has_one_upload_at_a_time_and_a_later_connection_begins_afresh() {
    let (uploads, now) = (Uploads::default(), Instant::now());
    let (one, two) = (content(1, 1), content(1, 2));
    put(&uploads, "a", 1, &one, now).unwrap();
    put(&uploads, "a", 1, &one, now).unwrap();
    assert_eq!(
        put(&uploads, "a", 1, &two, now),
        Err(UploadError::OneAtATime),
        "the frame of the first may be on its way"
    );
    put(&uploads, "a", 2, &two, now).unwrap();
    assert_eq!(put(&uploads, "a", 1, &one, now), Err(UploadError::Stale));
    // The end of the first connection is noticed late.
    uploads.session_ended(&from("a"), 1);
    assert_eq!(uploads.take(&from("a"), &Digest::of(&two)), Some(two));
}

#[test]
fn a_reservation_that_comes_to_nothing_takes_no_room() {
    let (uploads, now) = (Uploads::default(), Instant::now());
    let bytes = content(1, 1);
    let reserve = |length| uploads.reserve(&from("a"), 1, Digest::of(&bytes), length, now);
    assert_eq!(reserve(MAX_SPILLED_BYTES as u64).unwrap().fill(bytes.clone(), now), Err(UploadError::Damaged));
    let too_large = MAX_SPILLED_BYTES as u64 + 1;
    assert_eq!(reserve(too_large).unwrap_err(), UploadError::TooLarge { length: too_large });
    drop(reserve(1).unwrap());
    assert!(uploads.with(|shelf| shelf.held.is_empty()));
    // One that is slow but goes on is not given up, one that stands still is.
    let slow = reserve(bytes.len() as u64).unwrap();
    slow.goes_on(now + KEPT / 2);
    uploads.expire(now + KEPT);
    slow.fill(bytes.clone(), now + KEPT).unwrap();
    assert!(uploads.take(&from("a"), &Digest::of(&bytes)).is_some());
    let still = reserve(bytes.len() as u64).unwrap();
    uploads.expire(now + KEPT);
    assert_eq!(still.fill(bytes, now + KEPT), Err(UploadError::Stale));
}

#[test]
fn the_first_frame_of_a_session_is_found_by_its_digest() {
    let (uploads, now) = (Uploads::default(), Instant::now());
    let hello = content(1, 7);
    put(&uploads, "a", 3, &hello, now).unwrap();
    assert_eq!(uploads.take_first(&Digest::of(&hello), |from| from.worker == "b"), None);
    assert_eq!(uploads.take_first(&Digest::of(&hello), |_| true), Some((from("a"), hello)));
}
