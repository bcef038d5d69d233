//! The lock document as an object or an item holds it: any bytes are read as something, and the text for a
//! conditional delete is the very bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift::audit::lock_info::LockBody;
use lockshift::moment::Moment;

fuzz_target!(|data: &[u8]| {
    let body = LockBody::read(data);
    assert_eq!(body, LockBody::read(data));
    if let Some(text) = body.text() {
        assert_eq!(text.as_bytes(), data);
    }
    if let Some(lock) = body.lock() {
        assert!(!lock.id.is_empty());
        lock.created_at();
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(moment) = Moment::parse(text)
    {
        assert_eq!(Moment::parse(&moment.to_string()), Some(moment), "{text}");
    }
});
