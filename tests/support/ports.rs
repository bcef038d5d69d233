//! Loopback ports for the servers that tests start.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below every system's range of ports for outgoing connections (Linux: from 32,768), so that a connection of another
/// test can't take one between our look and the server's start; and above the ports that services are known by.
const FIRST: u16 = 18_000;
const COUNT: u16 = 14_000;

/// Counts up, so that tests of one process never get the same port; processes start apart by their ID.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// `N` different ports on which nobody listens now. Another process may still be faster: whoever starts a server
/// tries again with new ones.
pub fn free_ports<const N: usize>() -> [u16; N] {
    std::array::from_fn(|_| free_port())
}

/// One port on which nobody listens now.
pub fn free_port() -> u16 {
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let offset = start.wrapping_add(step) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).expect("smaller than the range");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no loopback port is free between {FIRST} and {}", FIRST + COUNT);
}
